from recollect.embedders.manifest import catalogue


def test_minilm_is_known_with_all_it_takes_to_trust_it() -> None:
    known = catalogue()["minilm"]

    assert known.manifest.dimensions == 384
    assert known.manifest.max_pieces == 256
    assert known.manifest.weights == known.files["model.safetensors"].sha256
    assert sorted(known.files) == sorted(known.urls) == ["model.safetensors", "tokenizer.json"]
    assert all(len(stamp.sha256) == 64 for stamp in known.files.values())
    assert len(known.package.sha256) == 64
    assert len(known.probe.begins) == 8


def test_every_address_is_encrypted_and_every_model_goes_by_its_name() -> None:
    models = catalogue()

    assert all(url.startswith("https://") for known in models.values() for url in known.urls.values())
    assert all(known.manifest.name == name for name, known in models.items())
