"""The language of texts, told by their words: article 1 of the Universal Declaration of Human Rights."""

# ruff: noqa: RUF001  # letters that look like others are what this is about

from collections import Counter

import pytest

from sampler.text import TextOptions, encode, language_of, scripts_of, words_of

TEXTS = {
    "en": (
        "All human beings are born free and equal in dignity and rights. They are endowed with reason and con"
        "science and should act towards one another in a spirit of brotherhood."
    ),
    "de": (
        "Alle Menschen sind frei und gleich an Würde und Rechten geboren. Sie sind mit Vernunft und Gewissen "
        "begabt und sollen einander im Geist der Brüderlichkeit begegnen."
    ),
    "fr": (
        "Tous les êtres humains naissent libres et égaux en dignité et en droits. Ils sont doués de raison et"
        " de conscience et doivent agir les uns envers les autres dans un esprit de fraternité."
    ),
    "es": (
        "Todos los seres humanos nacen libres e iguales en dignidad y derechos y, dotados como están de razón"
        " y conciencia, deben comportarse fraternalmente los unos con los otros."
    ),
    "pt": (
        "Todos os seres humanos nascem livres e iguais em dignidade e em direitos. Dotados de razão e de cons"
        "ciência, devem agir uns para com os outros em espírito de fraternidade."
    ),
    "it": (
        "Tutti gli esseri umani nascono liberi ed eguali in dignità e diritti. Essi sono dotati di ragione e "
        "di coscienza e devono agire gli uni verso gli altri in spirito di fratellanza."
    ),
    "nl": (
        "Alle mensen worden vrij en gelijk in waardigheid en rechten geboren. Zij zijn begiftigd met verstand"
        " en geweten, en behoren zich jegens elkander in een geest van broederschap te gedragen."
    ),
    "sv": (
        "Alla människor är födda fria och lika i värde och rättigheter. De är utrustade med förnuft och samve"
        "te och bör handla gentemot varandra i en anda av broderskap."
    ),
    "da": (
        "Alle mennesker er født frie og lige i værdighed og rettigheder. De er udstyret med fornuft og samvit"
        "tighed, og de bør handle mod hverandre i en broderskabets ånd."
    ),
    "no": (
        "Alle mennesker er født frie og med samme menneskeverd og menneskerettigheter. De er utstyrt med forn"
        "uft og samvittighet og bør handle mot hverandre i brorskapets ånd."
    ),
    "fi": (
        "Kaikki ihmiset syntyvät vapaina ja tasavertaisina arvoltaan ja oikeuksiltaan. Heille on annettu järk"
        "i ja omatunto, ja heidän on toimittava toisiaan kohtaan veljeyden hengessä."
    ),
    "pl": (
        "Wszyscy ludzie rodzą się wolni i równi pod względem swej godności i swych praw. Są oni obdarzeni roz"
        "umem i sumieniem i powinni postępować wobec innych w duchu braterstwa."
    ),
    "cs": (
        "Všichni lidé rodí se svobodní a sobě rovní co do důstojnosti a práv. Jsou nadáni rozumem a svědomím "
        "a mají spolu jednat v duchu bratrství."
    ),
    "sk": (
        "Všetci ľudia sa rodia slobodní a sebe rovní, čo sa týka ich dôstojnosti a práv. Sú obdarení rozumom "
        "a majú navzájom jednať v bratskom duchu."
    ),
    "hu": (
        "Minden emberi lény szabadon születik és egyenlő méltósága és joga van. Az emberek, ésszel és lelkiis"
        "merettel bírván, egymással szemben testvéri szellemben kell hogy viseltessenek."
    ),
    "ro": (
        "Toate ființele umane se nasc libere și egale în demnitate și în drepturi. Ele sunt înzestrate cu raț"
        "iune și conștiință și trebuie să se comporte unele față de altele în spiritul fraternității."
    ),
    "tr": (
        "Bütün insanlar hür, haysiyet ve haklar bakımından eşit doğarlar. Akıl ve vicdana sahiptirler ve birb"
        "irlerine karşı kardeşlik zihniyeti ile hareket etmelidirler."
    ),
    "ru": (
        "Все люди рождаются свободными и равными в своем достоинстве и правах. Они наделены разумом и совесть"
        "ю и должны поступать в отношении друг друга в духе братства."
    ),
    "uk": (
        "Всі люди народжуються вільними і рівними у своїй гідності та правах. Вони наділені розумом і совістю"
        " і повинні діяти у відношенні один до одного в дусі братерства."
    ),
    "bg": (
        "Всички хора се раждат свободни и равни по достойнство и права. Те са надарени с разум и съвест и сле"
        "два да се отнасят помежду си в дух на братство."
    ),
    "ar": (
        "يولد جميع الناس أحراراً متساوين في الكرامة والحقوق. وقد وهبوا عقلاً وضميراً وعليهم أن يعامل بعضهم بع"
        "ضاً بروح الإخاء."
    ),
    "fa": (
        "تمام افراد بشر آزاد به دنیا می‌آیند و از لحاظ حیثیت و حقوق با هم برابرند. همه دارای عقل و وجدان هستن"
        "د و باید نسبت به یکدیگر با روح برادری رفتار کنند."
    ),
    "ur": (
        "تمام انسان آزاد اور حقوق و عزت کے اعتبار سے برابر پیدا ہوئے ہیں۔ انہیں ضمیر اور عقل ودیعت ہوئی ہے۔ ا"
        "س لیے انہیں ایک دوسرے کے ساتھ بھائی چارے کا سلوک کرنا چاہیے۔"
    ),
    "hi": (
        "सभी मनुष्यों को गौरव और अधिकारों के मामले में जन्मजात स्वतन्त्रता और समानता प्राप्त है। उन्हें बुद्ध"
        "ि और अन्तरात्मा की देन प्राप्त है और परस्पर उन्हें भाईचारे के भाव से बर्ताव करना चाहिए।"
    ),
    "mr": (
        "सर्व मानवी व्यक्ती जन्मतःच स्वतंत्र आहेत व त्यांना समान प्रतिष्ठा व समान अधिकार आहेत. त्यांना विचारश"
        "क्ती व सदसद्विवेकबुद्धी लाभलेली आहे व त्यांनी एकमेकांशी बंधुत्वाच्या भावनेने आचरण करावे."
    ),
    "id": (
        "Semua orang dilahirkan merdeka dan mempunyai martabat dan hak-hak yang sama. Mereka dikaruniai akal "
        "dan hati nurani dan hendaknya bergaul satu sama lain dalam semangat persaudaraan."
    ),
    "vi": (
        "Tất cả mọi người sinh ra đều được tự do và bình đẳng về nhân phẩm và quyền. Mọi con người đều được t"
        "ạo hoá ban cho lý trí và lương tâm và cần phải đối xử với nhau trong tình bằng hữu."
    ),
    "ca": (
        "Tots els éssers humans neixen lliures i iguals en dignitat i en drets. Són dotats de raó i de consci"
        "ència, i han de comportar-se fraternalment els uns amb els altres."
    ),
    "ja": "すべての人間は、生まれながらにして自由であり、かつ、尊厳と権利とについて平等である。",
    "zh": "人人生而自由，在尊严和权利上一律平等。他们赋有理性和良心，并应以兄弟关系的精神相对待。",
    "ko": "모든 인간은 태어날 때부터 자유로우며 그 존엄과 권리에 있어 동등하다.",
    "th": "มนุษย์ทั้งหลายเกิดมามีอิสระและเสมอภาคกันในเกียรติศักดิ์และสิทธิ",
    "el": "Όλοι οι άνθρωποι γεννιούνται ελεύθεροι και ίσοι στην αξιοπρέπεια και τα δικαιώματα.",
    "he": "כל בני אדם נולדו בני חורין ושווים בערכם ובזכויותיהם.",
    "km": "មនុស្សទាំងអស់ កើតមកមានសេរីភាព និងសមភាព",
    "ta": "மனிதப் பிறவியினர் சகலரும் சுதந்திரமாகவே பிறக்கின்றனர்",
}


@pytest.mark.parametrize("language", TEXTS)
def test_a_language_is_told_by_two_sentences(language: str) -> None:
    assert language_of(Counter(words_of(TEXTS[language]))) == language


@pytest.mark.parametrize("given", ["", "gnu ibex zebra okapi", "1 2 3 !"])
def test_words_that_show_no_language_have_none(given: str) -> None:
    assert language_of(Counter(words_of(given))) is None


def test_scripts_are_told_by_the_letters_of_words() -> None:
    shares = {
        script.name: script.share for script in scripts_of(Counter(words_of("one два три τέσσερα 五 ろく")).items())
    }
    assert shares == pytest.approx({"Cyrillic": 2 / 6, "Han and kana": 2 / 6, "Latin": 1 / 6, "Greek": 1 / 6})


def long_texts(language: str, n: int = 6) -> list[str]:
    """Documents of one language that are not short."""
    return [TEXTS[language] * 3] * n


@pytest.mark.parametrize("language", ["en", "de", "fr", "ru", "ar", "hi"])
def test_the_stop_words_of_the_corpus_language_are_left_out(language: str) -> None:
    texts = long_texts(language)
    found = encode(texts, [None] * len(texts), TextOptions())
    assert (found.facts.language, found.facts.stop_words) == (language, (language,))
    same = encode(texts, [None] * len(texts), TextOptions(stop_words=language))
    assert found.vocabulary == same.vocabulary
    assert len(found.vocabulary) < len(encode(texts, [None] * len(texts), TextOptions("none")).vocabulary)


def test_most_documents_choose_the_language_not_a_few_long_ones() -> None:
    texts = [*long_texts("de", 7), *[text * 50 for text in long_texts("en", 3)]]
    facts = encode(texts, [None] * len(texts), TextOptions()).facts
    assert (facts.language, facts.stop_words) == ("de", ("de",))


def test_each_script_that_matters_has_its_own_stop_words() -> None:
    texts = [*long_texts("en"), *long_texts("ru")]
    found = encode(texts, [None] * len(texts), TextOptions())
    assert set(found.facts.stop_words) == {"en", "ru"}
    assert {"the", "and", "и", "в"}.isdisjoint(found.vocabulary)
    assert {"dignity", "достоинстве"} <= set(found.vocabulary)


def test_where_no_language_shows_the_english_words_are_left_out_as_ever() -> None:
    words = ["asp", "emu", "gnu", "ibex", "kiwi", "lynx", "okapi", "owl", "yak", "zebra"]
    texts = [" ".join([*words, "the"])] * 5
    found = encode(texts, [None] * 5, TextOptions())
    assert (found.facts.language, found.facts.stop_words) == (None, ("en",))
    assert found.vocabulary == words


def test_stop_words_of_several_languages_may_be_named() -> None:
    found = encode(["the cat and der Hund und le chien"], [None], TextOptions(("en", "de", "fr"), (), 2, 1))
    assert found.vocabulary == ["cat", "chien", "hund"]
    assert found.facts.stop_words == ("en", "de", "fr")


def test_a_language_that_is_named_is_not_looked_for() -> None:
    found = encode(["IŞIK VE ISI"] * 5, [None] * 5, TextOptions("none", language="tr"))
    assert set(found.vocabulary) == {"ışık", "ve", "ısı"}
    assert found.facts.language == "tr"
