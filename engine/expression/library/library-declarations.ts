/** The documentation of a library function, and the kind of a dataset or genome function, which the host provides. */
interface FunctionDeclaration {
  readonly signature: string;
  readonly text: string;
  readonly example: string;
  /** A call of a `dataset` or `genome` function that the host does not provide fails with the error that section 8 requires. */
  readonly kind?: 'dataset' | 'genome';
}

const regexFlagParameters = 'regex_ignorecase=None, regex_dotall=None, regex_multiline=None';
const selectionParameters = 'entities=None, filters=None, query=None';

/** The functions of the library (specification of expressions, section 8), in the order of its tables. */
export const libraryDeclarations: readonly FunctionDeclaration[] = [
  {
    signature: 'get(obj, path, default=None)',
    text: 'The value at a path in nested objects and lists, or the default if a step is missing.',
    example: "get(record, 'info.samples.0.gt', 'NA')",
  },
  {
    signature: 'coerce_list(value)',
    text: 'A list as it is, nothing for None, and a list of one element for any other value.',
    example: 'coerce_list(record.gene)',
  },
  {
    signature: 'concat(values, delimiter="")',
    text: 'Joins the text of values and of nested lists, without those that are None.',
    example: "concat([record.ref, record.alt], '/')",
  },
  {
    signature: `split(value, delimiter=None, regex=None, strip=True, ${regexFlagParameters})`,
    text: 'Splits a text at white space, at a delimiter or at the matches of a regular expression, and strips the parts.',
    example: "split(record.genes, ';')",
  },
  {
    signature: `findall(pattern, string, ${regexFlagParameters})`,
    text: 'All matches of a regular expression: texts, or tuples if the pattern has several groups.',
    example: "findall('[0-9]+', record.hgvs)",
  },
  {
    signature: `search(pattern, string, ${regexFlagParameters})`,
    text: 'Whether a regular expression matches anywhere.',
    example: "search('^rs\\\\d+$', record.id)",
  },
  {
    signature: `search_groups(pattern, string, ${regexFlagParameters})`,
    text: 'The groups of the first match of a regular expression; an empty list without a match.',
    example: "search_groups('([A-Z])(\\\\d+)([A-Z])', record.aa)",
  },
  {
    signature: `sub(pattern, repl, string, count=0, ${regexFlagParameters})`,
    text: 'Replaces the matches of a regular expression; `\\1` and `\\g<name>` stand for its groups.',
    example: "sub('^chr', '', record.chromosome)",
  },
  {
    signature: 'datetime_format(value, input_format=None, output_format="%Y-%m-%dT%H:%M:%S")',
    text: 'Writes a date in another format. Without an input format ISO 8601 and common forms are read.',
    example: "datetime_format(record.date, '%m/%d/%Y', '%Y-%m-%d')",
  },
  {
    signature: 'now(timezone="EST", template="%Y-%m-%dT%H:%M:%S")',
    text: 'The current date and time in a time zone.',
    example: "now('Europe/Berlin')",
  },
  {
    signature: 'today(timezone="EST", template="%Y-%m-%d")',
    text: 'The current date in a time zone.',
    example: 'today()',
  },
  {
    signature: 'error(message)',
    text: 'Fails with a message, which goes to `_errors`.',
    example: "error('no build') if not record.build else record.build",
  },
  {
    signature: 'explode(record, fields)',
    text: 'One record per element of the named list fields, which are walked in parallel.',
    example: "explode(record, fields=['gene', 'hgvs'])",
  },
  {
    signature: 'melt(record, fields, key_field="key", value_field="value", melt_list_values=False)',
    text: 'One record per named field, with the name of the field and its value.',
    example: "melt(record, fields=['t0', 't1'], key_field='time', value_field='dose')",
  },
  {
    signature: 'tabulate(objects, fields=None, header=True)',
    text: 'A table of the fields of objects, as a list of rows.',
    example: 'tabulate(record.samples)',
  },
  { signature: 'user()', text: 'The name and address of the user.', example: "user()['email']" },
  {
    signature: 'annotate(record, template, debug=False, include_errors=True)',
    text: 'Runs the fields of a template on a record and gives the annotated record.',
    example: 'annotate(record, template=42)',
  },
  {
    signature: `dataset_query(dataset, fields=None, limit=1, ${selectionParameters}, ordering=None)`,
    text: 'The records of a dataset that a query finds; one, unless a limit is given.',
    example: "dataset_query('demo:shared:/cohort', filters=[('age', 47)])",
    kind: 'dataset',
  },
  {
    signature: `dataset_count(dataset, ${selectionParameters})`,
    text: 'The number of records that a query finds.',
    example: "dataset_count('demo:shared:/cohort', entities=[('gene', record.gene)])",
    kind: 'dataset',
  },
  {
    signature: `dataset_field_values(dataset, field, limit=10, ${selectionParameters})`,
    text: 'The values of a field in the order of the records, without empty ones.',
    example: "dataset_field_values('demo:shared:/cohort', 'effect')",
    kind: 'dataset',
  },
  {
    signature: `dataset_field_top_terms(dataset, field, limit=10, ${selectionParameters})`,
    text: 'The most frequent values of a field, with their counts.',
    example: "dataset_field_top_terms('demo:shared:/cohort', 'gene', limit=3)",
    kind: 'dataset',
  },
  {
    signature: `dataset_field_terms_count(dataset, field, ${selectionParameters})`,
    text: 'The number of different values of a field.',
    example: "dataset_field_terms_count('demo:shared:/cohort', 'effect')",
    kind: 'dataset',
  },
  {
    signature: 'dataset_entity_top_terms(dataset, entity, limit=1000, filters=None, query=None)',
    text: 'The most frequent entities of a type; None if the dataset has no field of it.',
    example: "dataset_entity_top_terms('demo:shared:/cohort', 'gene')",
    kind: 'dataset',
  },
  {
    signature: `dataset_field_stats(dataset, field, ${selectionParameters})`,
    text: 'Count, minimum, maximum, mean and sum of a field of numbers.',
    example: "dataset_field_stats('demo:shared:/cohort', 'age')['avg']",
    kind: 'dataset',
  },
  {
    signature: `dataset_field_percentiles(dataset, field, percents=[1, 5, 25, 50, 75, 95, 99], ${selectionParameters})`,
    text: 'Percentiles of a field of numbers.',
    example: "dataset_field_percentiles('demo:shared:/cohort', 'age', [50])",
    kind: 'dataset',
  },
  {
    signature: 'prevalence(dataset, entity, sample_field, filters=None)',
    text: 'The part of the samples of a dataset that have an entity.',
    example: "prevalence('demo:shared:/cohort', ('gene', 'BRCA1'), 'sample')",
    kind: 'dataset',
  },
  {
    signature: 'beacon(entity, entity_type, beacon_set=None, datasets=None, visibility="vault")',
    text: 'In which datasets an entity is found.',
    example: "beacon('BRCA1', 'gene')['found_count']",
    kind: 'dataset',
  },
  {
    signature: 'entity_ids(entity_type, entity)',
    text: 'The identifiers that a text stands for.',
    example: "entity_ids('variant', 'chr7 55181378 . G T')[0]",
  },
  {
    signature: 'normalize_variant(variant)',
    text: 'A variant in its shortest form. It is not shifted, since that needs the reference sequence.',
    example: 'normalize_variant(record.variant)',
  },
  {
    signature: 'normalize_aa_change(aa_change, ref=None, alt=None)',
    text: 'An amino acid change as `p.Val600Glu`.',
    example: "normalize_aa_change('V600E')",
  },
  {
    signature:
      'translate_variant(variant, gene_model="refseq", transcript=None, include_effects=False)',
    text: 'The change of a variant in a transcript and its protein.',
    example: "translate_variant(record.variant)['protein_change']",
    kind: 'genome',
  },
  {
    signature: 'predict_variant_effects(variant, default_transcript=None, gene_model="refseq")',
    text: 'The effects of a variant on transcripts.',
    example: "[e['so_term'] for e in predict_variant_effects(record.variant)]",
    kind: 'genome',
  },
  {
    signature: 'classify_variant(variant, classifier="germline")',
    text: 'The classification of a variant.',
    example: 'classify_variant(record.variant)',
    kind: 'genome',
  },
  {
    signature: 'crossmap(entity, target_build)',
    text: 'A variant or region in another genome build; None if it does not map.',
    example: "crossmap(record.variant, 'GRCH38')",
    kind: 'genome',
  },
  {
    signature: 'genomic_sequence(genomic_region)',
    text: 'The bases of a region.',
    example: "genomic_sequence('GRCH38-7-117559590-117559593')",
    kind: 'genome',
  },
];
