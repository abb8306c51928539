"""One tool a module: VERSION, `build(material, home)`, which writes its index, and `searches(material, home)`.

The second runs in another process than the first, so that the memory it holds is that of a reader. It returns a
function for each row: the number of a question in, ids out, best first. Ids are the numbers of the texts.
"""
