"""Names that people give to the columns of texts and labels, in several languages."""

import re

from sampler.text.normal_forms import caseless_form

TEXT, LABEL, KEY, COUNTS, VECTOR = "text", "label", "key", "counts", "vector"
ROLES = frozenset((TEXT, LABEL, KEY, COUNTS))


def normal(name: str) -> str:
    """A name as it is compared: without regard to case, width, blanks, underscores and hyphens."""
    return re.sub(r"[\s_\-]+", "", caseless_form(name))


def normals(names: str) -> frozenset[str]:
    """The normal forms of names that are separated by blanks."""
    return frozenset(map(normal, names.split()))


LIKE_TEXT = normals(
    """
    abstract article body comment content contents description doc document email headline message news post
    question query review sentence snippet story summary texts title tweet utterance full_text fulltext
    Beitrag Beschreibung Betreff Dokument Frage Inhalt Kommentar Nachricht Satz Titel Volltext Zusammenfassung
    texte contenu résumé titre commentaire texto contenido cuerpo mensaje descripción comentario resumen título
    conteúdo mensagem descrição testo contenuto messaggio descrizione titolo tekst inhoud bericht omschrijving
    treść opis tekstas innehåll beskrivning metin içerik текст сообщение описание содержание κείμενο نص טקסט
    本文 文章 テキスト 内容 文本 正文 標題 标题 텍스트 내용 본문 ข้อความ
    """
)
LIKE_LABEL = normals(
    """
    categories category choice choices class classes classification cat gold genre group intent labels tag tags target
    targets topic topics
    Kategorie Kategorien Klasse Rubrik Schlagwort Thema Etikett
    catégorie classe étiquette rubrique thème categoría clase etiqueta tema categoria rótulo etichetta
    categorie onderwerp etiket kategoria kategori etykieta klasa ämne konu sınıf категория класс метка тема
    рубрика κατηγορία فئة תווית カテゴリ カテゴリー ラベル 分類 类别 類別 标签 標籤 分类 카테고리 분류 레이블 라벨
    หมวดหมู่
    """  # noqa: RUF001
)


def is_known(name: str) -> bool:
    """Whether a name is one that a header would have."""
    found = normal(name)
    return found in ROLES or found in LIKE_TEXT or found in LIKE_LABEL
