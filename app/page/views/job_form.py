"""The forms for a job and for a comparison of methods: settings as the API describes them, sensible as they stand."""

from typing import NamedTuple

from fastapi import Request, Response

from app.core.kinds import DEFAULT_MODEL, MODELS, TRUE_NUMBER, Model
from app.page.api import PublicApi, at_once
from app.page.job_fields import FieldOf, Schemas, fields_of, objects_of, schemas_of
from app.page.rendering import page, page_router

router = page_router()

N_LOOKED_AT = 30  # documents whose fields are offered as the source
OF_TEXT = ("language", "stop_words", "urls", "numbers", "markup", "min_document_frequency", "stemming")
OF_RUN = ("sweeps", "chains", "burn_in", "seed")
OF_MODELS = ("kernel", "answer")  # settings of a model that are no constants of it

# What the methods are, for those who choose one.
ABOUT: dict[str, str] = {
    Model.CALIBRATED: "Newfound's own (recommended): learns from your labels, and says how far to trust its answers",
    Model.LBPL_NTM: "LBPL-NTM, the paper's topic model",
    Model.DLDA: "D-LDA: the paper's model with a fixed number of categories",
    Model.SL: "Serendipitous learning: maximum margin over known and new categories",
    Model.COSC: "Constrained 1-spectral clustering",
    Model.SSKM: "Semi-supervised kernel k-means",
    Model.CLUTO: "CLUTO's direct k-way clustering: sees no labels",
    Model.DPGM: "Dirichlet process Gaussian mixture: sees no labels, finds the number",
}


class MethodOf(NamedTuple):
    """A method that can be chosen."""

    model: str
    about: str
    is_default: bool
    is_told: bool  # the number of categories
    fields: list[FieldOf]  # settings that no other method has
    constants: list[FieldOf]


@router.get("/corpora/{corpus_id}/new-job")
async def job_form(request: Request, api: PublicApi, corpus_id: str) -> Response:
    """The form for a job over a corpus."""
    corpus = await api.get(f"/v1/corpora/{corpus_id}")
    documents, health = await at_once(
        api.get(f"/v1/corpora/{corpus_id}/documents", {"limit": N_LOOKED_AT}), api.get("/health")
    )
    schemas = schemas_of(request)
    of_text = fields_of(schemas, "TextIn", "text.")
    chosen = [f"text.{name}" for name in OF_TEXT]
    [number] = fields_of(schemas, "JobIn", names=["n_categories"])
    return page(
        request,
        "job_form.html",
        corpus=corpus,
        has_workers=health["workers"] > 0,
        text_fields=sorted((each for each in of_text if each.name in chosen), key=lambda each: chosen.index(each.name)),
        more_text_fields=[each for each in of_text if each.name not in chosen],
        methods=methods(schemas),
        told=" ".join(model for model, facts in MODELS.items() if not facts.finds_number),
        number=number,
        run_fields=fields_of(schemas, "JobIn", names=OF_RUN),
        kept_fields=sorted({name for each in documents["documents"] for name in each["fields"]}),
    )


@router.get("/corpora/{corpus_id}/compare")
async def compare_form(request: Request, api: PublicApi, corpus_id: str) -> Response:
    """The form for a comparison of methods over splits of a corpus."""
    corpus = await api.get(f"/v1/corpora/{corpus_id}")
    schemas = schemas_of(request)
    return page(
        request,
        "compare_form.html",
        corpus=corpus,
        methods=[(each, asked(each)) for each in methods(schemas)],
        fields_shown=fields_of(schemas, "MethodComparisonIn", names=("splits", "labeled_share", "seed")),
    )


def methods(schemas: Schemas) -> list[MethodOf]:
    """All methods, with the settings that no other one has."""
    found = []
    for model, facts in MODELS.items():
        own = [name for name in facts.own_settings if name in OF_MODELS]
        constants = [
            each
            for name in facts.own_settings
            for schema in objects_of(schemas["JobIn"]["properties"][name])
            for each in fields_of(schemas, schema, f"{name}.")
        ]
        found.append(
            MethodOf(
                model,
                ABOUT[model],
                is_default=model == DEFAULT_MODEL,
                is_told=not facts.finds_number,
                fields=fields_of(schemas, "JobIn", names=own),
                constants=constants,
            )
        )
    return sorted(found, key=lambda method: not method.is_default)


def asked(method: MethodOf) -> dict[str, str]:
    """The method as a comparison names it: one that is told the number of categories is told the true one."""
    return {"model": method.model} | ({"n_categories": TRUE_NUMBER} if method.is_told else {})
