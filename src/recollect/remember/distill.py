"""Turn a recorded session into statements worth keeping: rules, decisions, preferences, gotchas, facts, procedures.

No language model is needed. Each sentence of a turn gets points from the cues in `CUES`; what reaches `THRESHOLD` is
kept in the speaker's own words. The position in the dialogue counts too: an agent that acknowledges what the person
said, a person who accepts what the agent proposed, an agent that explains an error.
Pasted text, questions, jokes, hypotheticals and what is taken back in the same session are not kept.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, Literal, get_args

from msgspec import Struct
from msgspec.structs import replace

from recollect.lazy import regex
from recollect.remember.capture import capture
from recollect.text.code import fenced_blocks
from recollect.text.dates import DateMatch, find_dates

StatementType = Literal["decision", "preference", "gotcha", "procedure", "fact"]
MARKED_TYPES: Final[Mapping[str, StatementType]] = {each: each for each in get_args(StatementType)}
"""The types that an agent may mark what it wants to keep with; another one is a fact."""
THRESHOLD: Final = 3.0
"""How many points a sentence needs."""
MIN_WORDS: Final = 3
MAX_STATEMENT_CHARACTERS: Final = 600
MAX_JOINED_CHARACTERS: Final = 160
"""How long a statement may be before another sentence is no longer joined to it."""
MAX_TOPIC_CHARACTERS: Final = 120
MAX_TERSE_WORDS: Final = 8
"""A statement with at most so many longer words is terse: what was spoken about before it is its topic."""
MAX_TYPED_CHARACTERS: Final = 1_200
"""Longer paragraphs were pasted, not typed."""
DAYS_WITHOUT_AN_END: Final = 30
"""How long a temporary statement holds that does not say until when."""


class SpokenTurn(Struct, frozen=True, kw_only=True):
    """A turn of a session: who spoke (the person or the agent), the words, when, and the id of the turn."""

    by_person: bool
    words: str
    at: datetime | None = None
    id: str | None = None
    line: int | None = None


class Statement(Struct, frozen=True, kw_only=True):
    """Something worth keeping, in the words of the session."""

    content: str
    type: StatementType
    turn: int
    """The position of its turn in the session."""
    owner: bool
    """Whether the person typed all of it."""
    confidence: float = 0.8
    until: datetime | None = None
    """When it stops to hold, if it is temporary."""
    topic: str = ""
    """What it answers, where its own words do not say: a complaint, or what was spoken about."""
    everywhere: bool = False
    """Whether it is meant for all of the person's projects."""


class Cue(Struct, frozen=True):
    """Words that make a sentence more or less worth keeping, and the type of statement they suggest."""

    points: float
    type: StatementType | None
    pattern: re.Pattern[str]


def _cue(points: float, kind: StatementType | None, *patterns: str) -> Cue:
    return Cue(points, kind, regex(r"(?<![\w-])(?:" + "|".join(patterns) + r")(?![\w-])", re.IGNORECASE))


_VALUE: Final = r"(?:\S*\d\S*|`[^`]+`)"
_DAY: Final = r"(?:mon|tues|wednes|thurs|fri|satur|sun)days?"

CUES: Final = (
    # rules
    _cue(3.0, "preference", "always", "never", "do ?n[o']?t ever", "under no circumstances", "at all times"),
    _cue(
        3.0,
        "preference",
        "from now on",
        "from here on",
        "going forward",
        "in (?:the )?future",
        "from today on",
        "as of (?:now|today)",
        "henceforth",
    ),
    _cue(
        2.5,
        "preference",
        "must(?: ?n[o']?t)?",
        "(?:is|are) (?:not allowed|forbidden|off limits|mandatory|required|frozen|banned)",
        "no exceptions?",
        "(?:has|have) to be",
        "only ever",
        "off[ -]limits",
        "house rule",
        "(?:new )?rule",
        "(?:our|the|my) convention",
        "policy",
    ),
    _cue(
        2.5,
        "preference",
        "(?:i|we) (?:strongly |really )?(?:prefer|like|hate|dislike|insist|care about|expect)",
        "(?:i|we) do ?n[o']?t (?:want|like|need|use|do|write|allow|accept|ship|merge|touch)",
        "i['\u2019 ]?d (?:rather|prefer)",
        "makes? it easier for me",
        "for my taste",
    ),
    _cue(
        2.0,
        "preference",
        r"(?:every|each) \S+(?: \S+){0,3} (?:gets?|needs?|has|have|must|should|goes?|is|uses?|starts?|ends?)",
        r"before (?:each|every|any|you)(?! me)",
        r"after (?:each|every|any)",
        "everything",
        "whenever",
        "nothing",
        "anywhere",
        "everywhere",
        "nobody",
        r"do ?n[o']?t (?:touch|use|commit|merge|push|deploy|put|add|write|call|log|store|change|edit|create"
        r"|treat|run)",
        r"avoid \S+",
        "stick (?:to|with)",
        "only",
        "by default",
    ),
    _cue(
        2.0,
        "preference",
        r"(?:^|[,;:.]\s+)(?:and |so |but |ok(?:ay)?,? |yes,? |agreed?,? )?no (?!wait|idea|problem|worries|need"
        r"|thanks|way|longer|more|rush|hurry|changes?|one|it|this|that|the)[\w`'-]+",
    ),
    _cue(1.5, None, r"make sure", r"please(?= (?:always|never|use|keep|write|name|no|do ?n))"),
    _cue(
        2.5,
        None,
        "remember(?: that|:| this)?",
        "keep in mind",
        "note (?:to self|that)",
        "write (?:this|that|it) down",
        "for the record",
        "don['\u2019]?t forget",
        "important",
        "be careful",
        "careful",
        "gotcha",
        "beware",
        "watch out",
    ),
    _cue(
        1.5, None, "fyi", "btw", "by the way", "just so you know", "in case you wonder", "heads[ -]up", "good to know"
    ),
    # contrasts
    _cue(
        2.0,
        "preference",
        r"(?<=[,;] )not [\w`'\"./-]+",
        r"(?<!is )(?<!are )(?<!was )(?<!do )(?<!did )(?<!does )(?<!has )(?<!have )(?<!can )(?<!should )(?<!would )"
        r"(?<!will )(?<!or )(?<!if )(?<!why )(?<!am )not (?!sure|yet|really|that|so|only|a problem)[\w`]+",
        "instead(?: of)?",
        "rather than",
        r"in place of",
    ),
    # decisions
    _cue(
        3.0,
        "decision",
        r"let['\u2019]?s (?:do|use|go|take|keep|make|call|stick|stay|drop|switch|move|have|say|start|just)",
        "(?:we|i)(?:['\u2019]?ll| will| would)? (?:go|went|going|are going|['\u2019]?re going) (?:with|for|back)",
        "decided",
        "decision",
        "(?:we|i)(?:['\u2019]re| are)? (?:drop|dropp(?:ed|ing)|switch(?:ed|ing)?|moved?|moving|migrat(?:e|ed"
        "|ing)|stay(?:ing)? (?:with|on|at)|settled?|agreed|chose)",
        r"[\w./-]+ it is",
        r"switching to",
        "goes? out completely",
    ),
    _cue(
        2.0,
        "decision",
        r"then$",
        r"(?:^|[.,] )(?:ok(?:ay)?|fine|yes|yeah|agree[d]?|right|good|sure|sounds (?:good|right)|perfect"
        r"|makes sense)[,.:]? (?:but |so |and )?(?!push|commit|go|do|run|merge|thanks?|thx|ship|next|now|i|its?"
        r"|that|whats?|how)[\w`]",
        "as secondary",
        "is what (?:matters|counts|we want)",
        r"(?:stays?|remains?) (?:below|above|at|on|in|with|as|the|open|off|utc)",
        r"\w+ stays",
    ),
    # facts
    _cue(
        2.0,
        "fact",
        r"(?:we|they|i) (?:use|run|deploy|release|ship|have|host|keep|store|build|are on|pay|call|name|test"
        r"|write|target|support|meet)",
        r"(?:lives?|listens?|runs?|sits?|is|are|goes?|go|comes?|come|belongs?|points?) (?:in|on|at|under|to|from"
        r"|through|via|behind|over|as)",
        r"(?:is|are|['\u2019]s) (?:called|named|hosted|owned|managed|in charge|responsible|reachable|deployed"
        r"|stored|kept|the (?:contact|owner|one))",
        r"(?:owns?|reviews?|maintains?|manages?|handles?|approves?|has taken over|took over|takes over"
        r"|is the contact)",
        r"ask (?:her|him|them|[a-z]+) (?:about|for|if|when)",
        r"(?:definition|meaning) of",
        r"(?:means|stands for)",
        r"(?:needs?|wants?|requires?|has|have) (?:the|a|an|no|its own|only|exactly|at least)",
        r"reads? (?:them|it|those|only)",
        rf"(?:[\w/-]+) (?:is|are|was) (?:now |always |only |exactly |at )?{_VALUE}",
    ),
    _cue(
        1.5,
        "fact",
        r"[\w`)/-]+ (?:is|are) (?!you|it|this|that|there|we|i|broken|failing|down|red|green|slow|wrong|weird"
        r"|annoying|insane|great|nice|good|fine|ok|cool|done|gone|happy)\w",
    ),
    _cue(
        1.0,
        None,
        r"https?://\S+",
        r"`[^`]+`",
        rf"{_VALUE}",
        r"[\w.-]+/[\w./-]+",
        r"[A-Z]{2,}[\w-]*",
        r"[a-z]+_[a-z_]+",
        r"\w+\(\)",
    ),
    _cue(
        1.5,
        "fact",
        rf"{_DAY}",
        r"\d{1,2}(?::\d\d)? ?(?:utc|am|pm|o'clock)",
        r"\d+ ?(?:days?|hours?|h|minutes?|weeks?|months?|years?|kb|mb|gb|kib|mib|gib|%)",
    ),
    # changes
    _cue(
        2.0,
        "fact",
        "no longer",
        "(?:is|are) (?:gone|dead|over|done with|back|frozen|retired|deprecated|closed|open again)",
        "(?:has|have|had)? ?(?:moved|changed|replaced|renamed|switched|taken over|been replaced)",
        "(?:moves?|changes?|switch(?:es)?|raise|goes) (?:\\S+ ){0,4}to",
        r"now",
        "again",
        "after all",
        "any ?more",
        "dropped",
        "killed",
        "signed off",
        "(?:is|are) different",
    ),
    # procedures
    _cue(
        2.0,
        "procedure",
        r"(?:tests?|builds?|releases?|deploys?|deployments?|migrations?|linting|formatting|setup|env|environment"
        r"|install)(?: \w+){0,2}(?: are| is| run| runs| with| via|:|=)",
        r"(?:run|start|launch|do) (?:\S+ ){0,4}(?:with|via|through|using|by) ",
        r"first,? then",
        r"(?:always|before) run",
        r"step \d",
    ),
    # settings: an order that leaves a value behind
    _cue(
        4.5,
        "fact",
        rf"(?:put|set|move|raise|lower|make|bump|change|pin|switch|increase|decrease|limit"
        rf"|cap)(?: \S+){{0,8}} (?:to|on|at|=|it|port) {_VALUE}",
        r"(?:put|move|raise|lower|pin|bump)\b.{0,100}?(?<![\w.-])\d{2,5}",
        r"(?:leave|keep) (?:it|them|that) (?:there|that way|like that|as is|so)",
        r"call (?:it|them|that) \S+",
        r"(?:pin|tag) (?:it|everything|all)",
    ),
    # reasons
    _cue(
        1.0,
        None,
        "because",
        "since",
        "otherwise",
        "so that",
        "due to",
        "that['\u2019]?s why",
        "or else",
        "for that reason",
        "breaks?",
        "wrong",
    ),
)
"""What makes a sentence worth keeping; each cue counts once."""

AGAINST: Final = (
    # a task for now, not a rule
    _cue(
        -3.0,
        None,
        r"^(?:ok(?:ay)?[,. ]+|and |then |now |please |so |also |yes[,. ]+|good[,. ]+|great[,. ]+|nice[,. ]+"
        r"|next:? )*(?:(?:can|could|would|will) you |please |pls |go ahead and |just )?"
        r"(?:run|fix|push|commit|add|make|look|show|check|try|write|delete|remove|rename|explain|find|open|close"
        r"|start|do|test|build"
        r"|install|create|implement|update|merge|deploy|tell|give|list|read|see|continue|resume|revert|undo"
        r"|rerun|retry|answer|draft|summari[sz]e|put|move|take|have a look|lets? see|bump|tag|rebase|squash"
        r"|refactor|split|extract|replace|change|set)\b",
    ),
    # how things go right now
    _cue(
        -2.5,
        None,
        r"(?<!should )(?<!must )(?:fails?|failed|failing|hangs?|crash(?:es|ed)?|leaks?|broke|broken"
        r"|does ?n[o']?t (?:work|start|come)|is (?:slow|red|green|down|flaky)|complains?|stuck|out of disk"
        r"|too slow|is a mess|are a mess)",
        r"(?:it|that|this|everything) works?",
        r"^(?:\S+ ){0,4}(?:was|were|got|did|went|came|had|tried|merged|applied|saw|noticed|opened|asked|thought"
        r"|forgot)",
        r"i(?:['\u2019]?m| am) (?:tired|off|back|going|trying|looking|working|seeing|getting)",
        r"(?:yesterday|this morning|last night|just now|right now|at the moment)",
        r"(?:customers?|users?|people|somebody|someone) (?:complain|report|ask|see|say|want)s?",
        r"whats? (?:left|next|this|going on)",
        r"(?:first|next|real|the) (?:task|thing|ticket|step|one)",
        r"feature request",
    ),
    _cue(
        -4.0,
        None,
        r"i (?:always|never) (?:forget|remember|know|understood|understand|get|liked)",
        r"never (?:understood|heard|seen|mind|tried)",
        r"(?:i|we) (?:want|need|have) to (?:try|talk|look|see|find|think|check|know|sleep|go)",
        r"i want (?:a|an) ",
        r"for (?:today|tonight)$",
    ),
    _cue(-1.5, None, r"^(?:it|this|that|those|these|thats|its|it['\u2019]s|that['\u2019]s) "),
    _cue(-1.0, None, r"^(?:i|i['\u2019]?ll|i['\u2019]?m|im) (?!want|prefer|hate|like|dislike|expect)"),
    # chatter
    _cue(
        -3.0,
        None,
        "good (?:morning|evening|night)",
        "morning",
        "evening",
        "lunch",
        "coffee",
        "holidays?",
        "weekend",
        "see you",
        "thanks?",
        "thx",
        "ty",
        "cheers",
        "beautiful",
        "lovely",
        "sleep",
    ),
)

_QUESTION: Final = regex(
    r"\?\s*$|^(?:ok(?:ay)?[, ]+|and |but |so |hm+[, ]+|now[, ]+|also )*(?:what|whats|what['\u2019]s|who|whos"
    r"|where|wheres|when|why|how|hows|which|can (?:you|we|i)|could (?:you|we|i)"
    r"|would (?:you|it)|should (?:we|i)|shall (?:we|i)|do (?:we|you|i)|does|did|is (?:it|there|this|that|the)"
    r"|are (?:there|we|you|the)|any (?:idea|thoughts)|thoughts)\b",
    re.IGNORECASE,
)
_JOKE: Final = regex(
    r"(?<!\w)(?:lol|lmao|rofl|haha\w*|hehe|jk|just kidding|kidding|joking|joke|/s"
    r"|what could (?:possibly )?go wrong|yeah,? right|as if|some ?day|sarcasm|not seriously)(?!\w)"
    r"|[😂🤣🙃😜😝😉😅😆🤪🤡]|;-?\)",
    re.IGNORECASE,
)
_HYPOTHETICAL: Final = regex(
    r"(?<!\w)(?:what if|if (?:we|they|you|i|it|he|she) (?:ever|had|were|would|could)|imagine|maybe|perhaps"
    r"|probably|might|would be (?:nice|cool|great)|i was thinking|(?:was |am |been )?thinking (?:of|about)"
    r"|i wonder|random (?:thought|idea)|in theory|hypothetically|one could|we could|could be|not sure|i guess"
    r"|no idea|if only|wish(?:es)?|suppose|(?:was|were) going to)(?!\w)",
    re.IGNORECASE,
)
_RETRACTION: Final = regex(
    r"(?<!\w)(?:no,? wait|wait,? no|actually,? no|forget (?:it|that|about it|what i said)|never ?mind|nvm"
    r"|scratch that|ignore that|disregard (?:that|it)|on second thoughts?|i take (?:it|that) back|nah)(?!\w)",
    re.IGNORECASE,
)
_REPORTED: Final = regex(
    r"(?<!\w)(?:the (?:ticket|issue|docs?|readme|manual|spec|article|post|guide|error|comment|customer"
    r"|reviewer)s? (?:says?|said|reads?|wants?)|according to the (?:docs?|readme|manual)"
    r"|from the [\w.-]+ (?:readme|docs?|manual)"
    r"|[\w]+s idea)(?!\w)",
    re.IGNORECASE,
)
_EVERYWHERE: Final = regex(
    r"(?<!\w)(?:in|for|across|on) (?:all|any|every(?: one)?|each)(?: of)? (?:my|our|the"
    r"|your)? ?(?:other )?(?:projects?|repos?|repositor(?:y|ies)|codebases?)(?!\w)"
    r"|(?<!\w)(?:wherever i work|(?:no matter|regardless of) (?:which|what) (?:project|repo)\w*"
    r"|in general,? (?:for me|with me)|whatever (?:the )?(?:project|repo)\w*)(?!\w)",
    re.IGNORECASE,
)
_TEMPORARY: Final = regex(
    r"(?<!\w)(?:until|till|til|for now|for the (?:moment|time being|next|rest of)|for (?:a|one|two|three"
    r"|the next|this) (?:\w+ )?(?:days?|weeks?|months?|sprint)|temporar(?:y|ily)|(?:this|next) (?:week|month"
    r"|sprint|release)(?: only)?"
    r"|today only|just (?:for )?(?:today|this once|this week|now)|for (?:\w+) only|(?:from"
    r"|between) the \d+\w* (?:to|and|till|until) the \d+\w*|while \w+ is (?:away|on holiday|on vacation|out"
    r"|sick)|as long as|away until|this once)(?!\w)",
    re.IGNORECASE,
)
_LASTING: Final = regex(
    r"(?<!\w)(?:from now on|always|never|until (?:it|they|you|all|the (?:tests?|build|pipeline|job|ci)))(?!\w)",
    re.IGNORECASE,
)
_ONE_TIME: Final = regex(
    r"(?<!\w)(?:this (?:one|time|once)|just once|for this (?:one|apply|run|time|commit|pr|push)|only this"
    r"|exception(?:ally)?|its? an emergency)(?!\w)",
    re.IGNORECASE,
)
_ACKNOWLEDGED: Final = regex(
    r"^(?:noted|got it|understood|will do|clear|good to know|i['\u2019]?ll (?:remember|keep|stick|use|run|remind"
    r"|follow|do)|thanks(?:,|:| for)|okay?[:,]|sure[:,]|right[:,]|agreed|then (?:i|it)|so[: ]"
    r"|\S+(?: \S+){0,3},? then[.,:;]|i have it|makes sense)",
    re.IGNORECASE,
)
_COMPLAINT: Final = regex(
    r"(?<!\w)(?:why|fails?|failed|failing|hangs?|hung|error|exception|traceback|crash\w*|leaks?|broken|broke"
    r"|wrong|flaky|slow|refused|denied|doesn['\u2019]?t|does not|can['\u2019]?t|cannot|won['\u2019]?t|stuck|bug"
    r"|complain\w*|double|missing|never (?:become|finish)|out of \w+|whats (?:this|going on|wrong))(?!\w)",
    re.IGNORECASE,
)
_CAUSE: Final = regex(
    r"(?<!\w)(?:because|since|cause|reason|that['\u2019]?s why|due to|found it|there it is|comes? from"
    r"|belongs? to|(?:which|that) (?:\w+ )?(?:means|makes|breaks|merges|locks|sends no)|so (?:the|every|each|all"
    r"|after|it|they)|the (?:problem|culprit|issue) is"
    r"|needs?|expects?|uses? .{1,40} and so|without|instead of|reads? (?:them )?once|never|no longer|lost its"
    r"|only (?:active|when|if)|fills? (?:up )?with|still (?:holds?|says?|points?))(?!\w)",
    re.IGNORECASE,
)
_REMEDY: Final = regex(
    r"(?<!\w)(?:remedy|fix(?:ed)?|cure|solution|workaround|(?:has|have|needs?) to|must|should|(?:you )?need(?:s"
    r"|ed)? (?:a|an|the|to)|run `|set `|use `|add(?:ed)? |call `|instead|safe to|the way out|that['\u2019]?s why"
    r"|for that reason|locally:|on the \w+: `|re-?create|rewritten|so (?:every|each|the) \w+ (?:that|needs?|has"
    r"|keeps?)|memoi[sz]e)(?!\w)",
    re.IGNORECASE,
)
_LABEL: Final = regex(
    r"^(?P<label>important|gotcha|decision|decided|rule|lesson|remember|caution|warning)\s*:\s*", re.IGNORECASE
)
_LABEL_TYPES: Final[Mapping[str, StatementType]] = {
    "decision": "decision",
    "decided": "decision",
    "rule": "preference",
    "remember": "fact",
}
_ABOUT_PROJECT: Final = regex(
    r"(?<!\w)(?:who|whos|where|which|when|whats the|what['\u2019]s the|what is the (?!difference|best|meaning"
    r"|point)|is (?:the )?\w+ (?:a|an|the)|what (?:port|version|range|branch|account|key|type|format)s?"
    r"|how (?:many|long|often))(?!\w)",
    re.IGNORECASE,
)
_SEEN_IN_PROJECT: Final = regex(
    r"(?<!\w)(?:according to|from (?:the |`)|in (?:the )?`|lists?|points? to|is set|configured|restricted to"
    r"|the \w+ file|codeowners|settings|config|defined in)(?!\w)|`[\w./-]+\.(?:ya?ml|toml|json|env|py|ts|tf\w*"
    r"|ini|cfg|lock|conf)`",
    re.IGNORECASE,
)
_SERVES: Final = regex(
    r"(?:listens?|runs?|is up|serves?|reachable|available|starts?) (?:on|at|under) (?:port )?(?:https?://\S+"
    r"|`?[\w.]*:?\d{2,5})",
    re.IGNORECASE,
)
_PROPOSAL: Final = regex(
    r"(?<!\w)(?:i['\u2019]?d (?:take|use|go|say|suggest|recommend|keep|put|make|pick|prefer|write|map|show|add"
    r"|replace)|i (?:suggest|propose|recommend)|proposal|my (?:suggestion|recommendation)|options?:"
    r"|is the clean one|the better (?:one|choice)|would be (?:better|cleaner|best)|isn['\u2019]?t possible"
    r"|is what people expect)(?!\w)",
    re.IGNORECASE,
)
_OPTION: Final = regex(r"^\s*(?:\(?(?P<key>\d|[a-d])[.)])\s+(?P<text>\S.*)$", re.MULTILINE | re.IGNORECASE)
_CHOICE: Final = regex(
    r"(?<!\w)(?:(?:do|take|go (?:with|for)|use|pick|prefer|option|number|choose|want|ok|okay|yes,?|definitely) "
    r"|^)(?:option |number |no\.? )?(?P<key>\d|[a-d](?= |$|[.,]))(?![\w.%:/])",
    re.IGNORECASE,
)
_ACCEPTS: Final = regex(
    r"^(?:ok(?:ay)?|yes|yep|yeah|sure|fine|agree[d]?|good(?: idea| point)?|right|sounds (?:good|right|fine)"
    r"|makes sense|perfect|exactly|great|lets? do (?:that|it)|do (?:that|it)|go (?:with that|for it|ahead))(?!\w)",
    re.IGNORECASE,
)
_BARE_CHOICE: Final = regex(
    r"(?:let['\u2019]?s |ok(?:ay)?,? |yes,? |agreed,? )(?:do|go with|use|take) (?:that|it|this)(?: one| way"
    r"| approach)?",
    re.IGNORECASE,
)
_NUMBERED: Final = regex(
    r"(?:^|[\s:(])(?:1[.)]|first[,:])\s.+?[\s,(](?:2[.)]|second[,:]|then)\s.+?[\s,(](?:3[.)]|third[,:]|finally)\s",
    re.IGNORECASE | re.DOTALL,
)
_QUOTED: Final = regex(r"[\"“”][^\"“”]{25,}[\"“”]")
_LOG_LINE: Final = regex(
    r"^\s*(?:\$ |>|#|at |File \"|\d{4}-\d\d-\d\d|\[?\d\d:\d\d|Traceback|Error:|ERROR|WARN|INFO|DEBUG|FATAL|\+"
    r"|-{3}|@@|\||[A-Za-z_.]+(?:Error|Exception)\b)|^\s{2,}\S|^\s*[-*•] "
)
_INTRODUCES: Final = regex(r":\s*$")
_SENTENCE_END: Final = regex(r"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)(?<!\d\.)\s+(?=\S)|\n+|(?<=\w)\s*;\s+")
_CLAUSE: Final = regex(
    r"(?<=,)\s+(?=(?:everything|from now on|never|always)\b)|,?\s+(?:and|also)\s+(?=(?:also\s+)?(?:do ?n[o']?t ever"
    r"|do ?n[o']?t|never|always|please|no \w+ (?:in|on|for|to)|remember|use|the \w+ (?:is|are|goes|must)|before"
    r"|every|from now on)\b)",
    re.IGNORECASE,
)
_LEAD: Final = regex(
    r"^(?:(?:ok(?:ay)?|yes|yeah|yep|right|good|great|nice|perfect|cool|super|fine|sure|no+|no no|hm+|ah+|oh|and"
    r"|also|so|but|btw|by the way|fyi|exactly|well|k|ahh?|one more thing|thanks|thx|beautiful|lovely"
    r"|👍)\b[\s,.!:;-]*)+",
    re.IGNORECASE,
)
_NEW_TOPIC: Final = regex(
    r"(?:and|also|btw|by the way|oh|second(?:ly)?|another|one more|next|fyi|plus|besides|separately)\b", re.IGNORECASE
)
_BACKTICKS: Final = regex(r"`[^`]*`")
_WORD: Final = regex(r"[\w'\u2019`./-]+")


def distill(turns: Sequence[SpokenTurn]) -> list[Statement]:
    """Return what is worth keeping of a session, in its order."""
    found: list[Statement] = []
    for at, turn in enumerate(turns):
        if turn.by_person:
            if _takes_back(turn):
                _drop_last(found, at, turns)
            found += _of_person(turns, at)
        else:
            found += _of_agent(turns, at)
    return found


# --- what the person says ---------------------------------------------------------------------


def _of_person(turns: Sequence[SpokenTurn], at: int) -> Iterator[Statement]:
    turn = turns[at]
    typed = typed_words(turn.words)
    if not typed or (_JOKE.search(typed) and len(typed) < 300):
        return
    if _NUMBERED.search(typed) and len(typed) < MAX_TYPED_CHARACTERS:
        yield _statement(typed, "procedure", at, turn)
        return
    sentences = _sentences(typed)
    taken_back = max((place for place, each in enumerate(sentences) if _RETRACTION.search(each)), default=-1)
    sentences = sentences[taken_back + 1 :]
    acknowledged = _is_acknowledged(turns, at)
    answers = _answers_agent(turns, at)
    scored = [_score(each, acknowledged=acknowledged, answers=answers) for each in sentences]
    chosen = list(_chosen(turns, at, typed))
    if chosen:
        yield from chosen
        return
    groups = _groups(sentences, [points for points, _ in scored])
    for group in groups:
        best = max(group, key=lambda place: scored[place][0])
        content = _shortened(" ".join(sentences[place] for place in group))
        kind = _type(content, scored[best][1])
        content, owner = _with_context(content, turns, at)
        yield replace(_statement(content, kind, at, turn), owner=owner, topic=_topic(content, turns, at))


def typed_words(text: str) -> str:
    """Return what a person typed of *text*: without code blocks, quotations, logs, and what a colon introduces."""
    pieces, end = [], 0
    for begin, behind in fenced_blocks(text):
        pieces.append(text[end:begin])
        end = behind
    paragraphs = re.split(r"\n\s*\n", "\n".join((*pieces, text[end:])))
    kept: list[str] = []
    introduced = False
    for paragraph in paragraphs:
        lines = [line for line in paragraph.splitlines() if line.strip()]
        own = [line for line in lines if not _LOG_LINE.match(line)]
        pasted = introduced or len(paragraph) > MAX_TYPED_CHARACTERS or (len(lines) > 2 and len(own) < len(lines) / 2)
        introduced = bool(lines and _INTRODUCES.search(lines[-1]))
        if not pasted:
            kept.append("\n".join(own))
    if len(text) > 4 * MAX_TYPED_CHARACTERS:
        kept = kept[:1]
    return _QUOTED.sub("", "\n".join(kept)).strip()


def _sentences(typed: str) -> list[str]:
    """Return the sentences of *typed*; a fragment of one or two words belongs to the sentence before it."""
    found: list[str] = []
    for part in _SENTENCE_END.split(typed):
        for clause in _CLAUSE.split(part):
            if found and clause.strip() and len(clause.split()) <= 2 and not found[-1].endswith("?"):
                found[-1] = f"{found[-1]} {clause.strip()}"
            elif clause.strip():
                found.append(clause.strip())
    return found


def _score(sentence: str, *, acknowledged: bool, answers: bool) -> tuple[float, StatementType | None]:
    """Return the points of a sentence and the type that its strongest cue suggests."""
    text = _LEAD.sub("", sentence).strip()
    words = _WORD.findall(text)
    if (
        len(words) < (2 if answers else MIN_WORDS)
        or _QUESTION.search(text)
        or _HYPOTHETICAL.search(text)
        or _JOKE.search(text)
        or _REPORTED.search(text)
        or _ONE_TIME.search(text)
        or _RETRACTION.search(text)
    ):
        return 0.0, None
    hits = [cue for cue in CUES if cue.pattern.search(sentence)]
    points = sum(cue.points for cue in hits)
    rules = any(cue.points >= 2.5 and cue.type in ("preference", "decision") for cue in hits)
    setting = any(cue.points > 4 for cue in hits)
    for cue in AGAINST:
        if cue.pattern.search(text):
            points += cue.points / (3.0 if rules or setting else 1.0)
    points += (1.5 if acknowledged else 0.0) + (1.0 if answers else 0.0) - (1.0 if len(words) < 5 else 0.0)
    typed = max((cue for cue in hits if cue.type), key=lambda cue: cue.points, default=None)
    return points, typed.type if typed else None


def _groups(sentences: Sequence[str], points: Sequence[float]) -> list[list[int]]:
    """Return the sentences that make a statement each: one that has enough points, with what stands around it."""
    groups: list[list[int]] = []
    for place, score in enumerate(points):
        joins = bool(groups) and groups[-1][-1] == place - 1
        length = sum(len(sentences[each]) for each in groups[-1]) if joins else 0
        if score >= THRESHOLD:
            if joins and length < MAX_JOINED_CHARACTERS and not _NEW_TOPIC.match(sentences[place]):
                groups[-1].append(place)
            else:
                before = (
                    [place - 1] if place and not joins and _introduces(sentences[place - 1], points[place - 1]) else []
                )
                groups.append([*before, place])
        elif joins and score > -1 and length < MAX_JOINED_CHARACTERS and _elaborates(sentences[place]):
            groups[-1].append(place)
    return groups


def _elaborates(sentence: str) -> bool:
    """Return whether a sentence that is not worth keeping by itself says more about the one before it."""
    return not (
        _QUESTION.search(sentence) or _JOKE.search(sentence) or AGAINST[0].pattern.search(_LEAD.sub("", sentence))
    )


def _introduces(sentence: str, points: float) -> bool:
    """Return whether a short sentence names the topic of the next one."""
    words = len(_WORD.findall(_LEAD.sub("", sentence)))
    return 1 <= words <= 8 and points < THRESHOLD and _elaborates(sentence) and not _RETRACTION.search(sentence)


def _type(content: str, suggested: StatementType | None) -> StatementType:
    """Return the type of a statement of a person."""
    if re.search(r"`[^`]+`|\b(?:run|tests?|release|deploy)\b", content) and re.search(
        r"\b(?:run|with|first|then|before|tests? (?:are|is|run)|use)\b.*`|\b(?:first|then)\b", content, re.IGNORECASE
    ):
        return "procedure"
    return suggested or "fact"


def _statement(content: str, kind: StatementType, at: int, turn: SpokenTurn, *, confidence: float = 0.8) -> Statement:
    content = _shortened(content)
    return Statement(
        content=content,
        type=kind,
        turn=at,
        owner=turn.by_person,
        confidence=confidence,
        until=_until(content, turn.at) if turn.by_person else None,
        everywhere=turn.by_person and bool(_EVERYWHERE.search(content)),
    )


def _shortened(text: str) -> str:
    """Return *text* on one line, without what opens a reply, and not too long."""
    flat = " ".join(text.split())
    bare = _LEAD.sub("", flat)
    bare = bare if len(_WORD.findall(bare)) >= MIN_WORDS and not re.match(r"no\b", flat, re.IGNORECASE) else flat
    if (
        re.match(r"no\W*(?:no\W*)*(?=\w+ (?!\w+ )|[!,.])", flat, re.IGNORECASE)
        and len(_WORD.findall(bare)) >= MIN_WORDS
    ):
        bare = (
            re.sub(r"^(?:no\W+)+", "", flat, flags=re.IGNORECASE)
            if re.match(r"no[!,. ]+no|no[!,.]", flat, re.IGNORECASE)
            else bare
        )
    if len(bare) > MAX_STATEMENT_CHARACTERS:
        bare = bare[:MAX_STATEMENT_CHARACTERS].rsplit(" ", 1)[0] + " …"
    return bare


def _until(content: str, at: datetime | None) -> datetime | None:
    """Return when a statement stops to hold; None where it is not temporary."""
    if at is None or not _TEMPORARY.search(_BACKTICKS.sub("", content)) or _LASTING.search(content):
        return None
    ends = [
        end for each in find_dates(_BACKTICKS.sub("", content), now=at) if (end := _next_time(each, at)) is not None
    ]
    ordinal = re.findall(r"\bthe (\d{1,2})(?:st|nd|rd|th)\b", content)
    if ordinal and not ends:
        ends = [_next_day(int(ordinal[-1]), at)]
    soon = [end for end in ends if timedelta(0) < end - at < timedelta(days=200)]
    if soon:
        return max(soon)
    days = re.search(
        r"(?:next|for) (?:the next )?(?P<n>\d+|two|three|four|six|a|one)? ?(?P<unit>day|week|month|sprint)",
        content,
        re.IGNORECASE,
    )
    if days:
        number = {"two": 2, "three": 3, "four": 4, "six": 6}.get((days["n"] or "1").lower()) or (
            int(days["n"]) if (days["n"] or "").isdigit() else 1
        )
        return at + timedelta(days=number * {"day": 1, "week": 7, "month": 31, "sprint": 14}[days["unit"].lower()])
    if re.search(r"this week", content, re.IGNORECASE):
        return at + timedelta(days=7)
    return at + timedelta(days=DAYS_WITHOUT_AN_END)


def _next_time(found: DateMatch, at: datetime) -> datetime | None:
    """Return the end of a date that lies ahead: a day without a year, or a weekday, is the next one."""
    end = found.span.end
    if end > at:
        return end
    if found.repeats:
        return end.replace(year=end.year + 1) if (end.month, end.day) != (2, 29) else None
    return end + timedelta(days=7) if timedelta(0) <= at - end < timedelta(days=7) else None


def _next_day(day: int, at: datetime) -> datetime:
    """Return the end of the next *day* of a month."""
    ahead = next((each for n in range(1, 62) if (each := at + timedelta(days=n)).day == day), at)
    return ahead + timedelta(days=1)


# --- the dialogue -----------------------------------------------------------------------------


def _before(turns: Sequence[SpokenTurn], at: int) -> SpokenTurn | None:
    """Return the agent's turn right before a turn of the person."""
    return turns[at - 1] if at and not turns[at - 1].by_person else None


def _is_acknowledged(turns: Sequence[SpokenTurn], at: int) -> bool:
    following = turns[at + 1] if at + 1 < len(turns) else None
    return following is not None and not following.by_person and bool(_ACKNOWLEDGED.search(following.words.strip()))


def _answers_agent(turns: Sequence[SpokenTurn], at: int) -> bool:
    """Return whether a turn follows a question or a proposal of the agent."""
    before = _before(turns, at)
    return before is not None and (before.words.rstrip().endswith("?") or bool(_PROPOSAL.search(before.words)))


def _chosen(turns: Sequence[SpokenTurn], at: int, typed: str) -> Iterator[Statement]:
    """Yield the decision of a turn that picks one of the agent's options, or accepts its proposal as it is."""
    before = _before(turns, at)
    if before is None or len(typed) > 200 or _QUESTION.search(typed):
        return
    options = {each["key"].lower(): each["text"] for each in _OPTION.finditer(before.words)}
    choice = _CHOICE.search(typed)
    several = re.search(r"\d\s*(?:and|,|\+|to)\s*\d", typed)
    if choice and not several and choice["key"].lower() in options and len(options) > 1:
        text = f"{options[choice['key'].lower()].rstrip('.')} ({_shortened(typed)})"
        yield replace(_statement(text, "decision", at, turns[at]), owner=False)
    elif _BARE_CHOICE.fullmatch(typed.strip(" .!")) and (proposed := _proposal(before.words)):
        yield replace(_statement(proposed, "decision", at, turns[at], confidence=0.7), owner=False)


def _proposal(words: str) -> str:
    """Return the sentence of the agent that proposes something."""
    return next((each for each in _sentences(words) if _PROPOSAL.search(each) and not each.endswith("?")), "")


_TELLING: Final = regex(r"[\w`./-]{4,}")


def _with_context(content: str, turns: Sequence[SpokenTurn], at: int) -> tuple[str, bool]:
    """Return a short answer together with what it answers, and whether all of it was typed by the person."""
    before = _before(turns, at)
    telling = [word for word in _TELLING.findall(content) if not _ACCEPTS.match(word)]
    if before is None or len(telling) > 8 or not _answers_agent(turns, at):
        return content, True
    asked = _proposal(before.words) or (_sentences(before.words) or [""])[-1]
    asked = " ".join(asked.split())
    earlier = next(
        (typed for turn in reversed(turns[:at]) if turn.by_person and (typed := typed_words(turn.words))), ""
    )
    if len(asked) > 240:
        asked = asked[:240].rsplit(" ", 1)[0] + " …"
    asks = next((each for each in _sentences(earlier) if _QUESTION.search(each)), "")
    if asks and len(_TELLING.findall(asked)) < 4:
        asked = f"{asks} {asked}"
    return (f"{content} (on: {asked})", False) if asked else (content, True)


def _topic(content: str, turns: Sequence[SpokenTurn], at: int) -> str:
    """Return what a terse statement is about, from the person's words before it in the session."""
    if len(_TELLING.findall(content)) > MAX_TERSE_WORDS or not at or turns[at - 1].by_person:
        return ""
    earlier = next(
        (typed for turn in reversed(turns[:at]) if turn.by_person and (typed := typed_words(turn.words))), ""
    )
    return _shortened(earlier)[:MAX_TOPIC_CHARACTERS] if len(_TELLING.findall(earlier)) > 2 else ""


def _complaint(asked: str) -> str:
    """Return what went wrong, in the person's words."""
    return " ".join(asked.split())[:MAX_TOPIC_CHARACTERS]


def _takes_back(turn: SpokenTurn) -> bool:
    """Return whether a turn opens by taking back what was said before it."""
    words = turn.words.strip()
    return bool(_RETRACTION.match(words) or _RETRACTION.match(_LEAD.sub("", words))) or bool(
        re.match(r"(?:yeah,? |yes,? )?(?:i )?was (?:just )?(?:joking|kidding)", turn.words.strip(), re.IGNORECASE)
    )


def _drop_last(found: list[Statement], at: int, turns: Sequence[SpokenTurn]) -> None:
    """Drop what the person said right before."""
    last = next((place for place in range(at - 1, -1, -1) if turns[place].by_person), None)
    found[:] = [each for each in found if last is None or each.turn < last]


# --- what the agent finds ---------------------------------------------------------------------


def _of_agent(turns: Sequence[SpokenTurn], at: int) -> Iterator[Statement]:
    turn = turns[at]
    said = typed_words(turn.words)
    asked = _last_words_of_person(turns, at)
    sentences = _sentences(said)
    for marked in capture(turn.words):
        if marked.source == "self_report":
            yield _statement(
                marked.content, MARKED_TYPES.get(marked.type, "fact"), at, turn, confidence=marked.confidence
            )
    labelled = [each for each in sentences if _LABEL.match(each)]
    if labelled and not _ACKNOWLEDGED.match(said):
        label = _LABEL.match(labelled[0])
        kind = _LABEL_TYPES.get(label["label"].lower() if label else "", "gotcha")
        content = " ".join(_LABEL.sub("", each) for each in labelled)
        yield _statement(content, kind, at, turn)
        return
    if re.search(r"(?<!\w)from now on(?!\w)", said, re.IGNORECASE):
        chosen = [each for each in sentences if re.search(r"from now on", each, re.IGNORECASE)]
        yield _statement(" ".join(chosen), "procedure", at, turn, confidence=0.7)
        return
    explains = _explains(said, asked, sentences)
    if explains:
        yield replace(_statement(explains, "gotcha", at, turn, confidence=0.7), topic=_complaint(asked))
        return
    if asked and _ABOUT_PROJECT.search(asked) and "?" in turns_question(asked) and _SEEN_IN_PROJECT.search(said):
        plain = [each for each in sentences if not each.endswith("?")]
        if plain and len(said) < 400:
            yield _statement(" ".join(plain[:3]), "fact", at, turn, confidence=0.7)
        return
    for each in sentences:
        if _SERVES.search(each) and not each.endswith("?"):
            yield _statement(each, "fact", at, turn, confidence=0.7)


def turns_question(asked: str) -> str:
    """Return *asked* with a question mark where it is a question without one."""
    return asked if "?" in asked else f"{asked}?" if any(map(_QUESTION.search, _sentences(asked))) else asked


def _explains(said: str, asked: str, sentences: Sequence[str]) -> str:
    """Return the cause and the remedy of something that went wrong; blank where the agent explains nothing."""
    if len(said) < 60 or said.endswith("?") or _OPTION.search(said) or _ACKNOWLEDGED.match(said):
        return ""
    cause, remedy = _CAUSE.search(said), _REMEDY.search(said)
    troubled = bool(asked and _COMPLAINT.search(asked))
    named = re.search(
        r"(?<!\w)(?:cause|remedy|found it|there it is|that['\u2019]?s why|the cure|for that reason"
        r"|good that you asked|the fix)(?!\w)",
        said,
        re.IGNORECASE,
    )
    if not (named or (troubled and cause)):
        return ""
    if not named and _PROPOSAL.search(said) and not remedy:
        return ""
    specific = re.search(r"`[^`]+`|\d|[a-z]_[a-z]|[A-Z]{2,}", said)
    kept = [each for each in sentences if len(_WORD.findall(each)) > 3]
    return " ".join(kept) if specific and kept and len(said) > 80 else ""


def _last_words_of_person(turns: Sequence[SpokenTurn], at: int) -> str:
    """Return the last words of the person before an agent's turn, pasted ones included; they may be some turns ago."""
    return next((turn.words for turn in reversed(turns[max(0, at - 6) : at]) if turn.by_person), "")
