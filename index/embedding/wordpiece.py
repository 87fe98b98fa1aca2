"""The tokenizer of all-MiniLM-L6-v2: uncased WordPiece, neither padding nor cutting.

The vocabulary ships with this package (Apache-2.0, as the model), since the package that has the
weights has no tokenizer. The tokenizer file that comes with the model pads and cuts every text to
128 tokens, in silence.

Inputs are limited to 256 tokens: the length that the model's authors give, above which nothing was
trained, although the position table has 512 rows.
"""

from importlib import resources

from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

MAX_TOKENS = 256
UNKNOWN = "[UNK]"

_VOCABULARY = "minilm_vocab.txt"


def build_tokenizer() -> Tokenizer:
    """The tokenizer, with the model's start and end tokens around each text."""
    vocabulary = read_vocabulary()
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token=UNKNOWN))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[(name, vocabulary[name]) for name in ("[CLS]", "[SEP]")],
    )
    return tokenizer


def read_vocabulary() -> dict[str, int]:
    """From word pieces to ids."""
    data = resources.files("index.embedding").joinpath("data", _VOCABULARY)
    lines = data.read_text(encoding="utf-8").split("\n")
    return {piece: number for number, piece in enumerate(lines) if piece}
