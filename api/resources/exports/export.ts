import type { ExportRow, NewExport } from '../../../engine/catalog/exports.js';
import type { Form } from '../../http/form.js';
import { constantField, declareResource, type ResourceField } from '../../http/resource.js';
import {
  answerSchema,
  boolean,
  id,
  integer,
  jsonObject,
  jsonObjects,
  enumOf,
  nullable,
  nullableText,
  reference,
  text,
  timestamp,
  withReader,
} from '../../http/json-schema.js';
import {
  defaultFormat,
  exampleFilename,
  exportFormats,
  requireWriter,
} from '../../../scheduler/jobs/export/format.js';
import { asOfProperty } from '../queries/as-of.js';
import { jobFields, priorityType, type JobContext } from '../jobs/job-view.js';
import type { JobPresenter } from '../jobs/job-presenter.js';

const formatList = exportFormats
  .map(({ format, description }) => `\`${format}\`: ${description}`)
  .join(' ');

function readFormat(form: Form, key: string): string | undefined {
  const name = form.requiredText(key);
  if (name === '') return undefined;
  try {
    return requireWriter(name).format;
  } catch (error) {
    form.collectErrorsOf(error);
    return undefined;
  }
}

/** An export (contract 11.1). It has no key `filename`, because one client would take its value for the name of a local file. */
export const exportResource = declareResource<ExportRow, JobContext, Partial<NewExport>>({
  name: 'DatasetExport',
  description: 'An export: the records that a query finds, written to a file.',
  fields: {
    class_name: constantField('DatasetExport'),
    ...(jobFields as Readonly<Record<string, ResourceField<ExportRow, JobContext>>>),
    dataset_id: { type: id, example: 4812, create: 'required' },
    url: {
      type: text,
      example: 'http://localhost:7878/v2/dataset_exports/5107',
      show: (row, { origin }) => `${origin}/v2/dataset_exports/${row.id}`,
    },
    format: {
      type: withReader(text, readFormat),
      description: `The file format. ${formatList}`,
      example: defaultFormat,
      create: 'required',
    },
    documents_count: {
      type: nullable(integer),
      description: 'Number of records in the file.',
      example: 1204,
    },
    params: {
      type: reference('ExportQuery'),
      answerType: jsonObject,
      lookup: true,
      description: 'The query, as it was sent; its limit may be 1 to 1,000,000.',
      example: { filters: [['clinical_significance', 'Pathogenic']], fields: ['gene', 'variant'] },
      create: 'optional',
      show: ({ params }) => ('commit_id' in params ? {} : params),
    },
    commit_id: {
      type: nullable(id),
      description: 'The commit whose records the file has, if its download was asked for.',
      example: null,
      show: ({ params }) => params['commit_id'] ?? null,
    },
    as_of: {
      type: nullable(reference('AsOf')),
      lookup: true,
      description:
        'The version of the dataset that the request names, fixed when the export is created; null without one. Requests have a commit id or a time here, or in params.',
      example: null,
      create: 'optional',
      createType: asOfProperty.type,
    },
    target_fields: {
      type: jsonObjects,
      lookup: true,
      description: 'Fields that are computed of each record.',
      example: [],
      create: 'optional',
      show: (row) => row.targetFields ?? [],
    },
    annotator_params: {
      type: jsonObject,
      lookup: true,
      description:
        'data, include_errors, pre_annotation_expression and post_annotation_expression.',
      example: {},
      create: 'optional',
      show: (row) => row.annotatorParams ?? {},
    },
    target_full_path: {
      type: nullableText,
      description: 'Full path under which the file is also stored: `vault:/folder/name`.',
      example: null,
      create: 'optional',
    },
    target_object_id: {
      type: nullable(id),
      description: 'The file stored at target_full_path.',
      example: null,
    },
    send_email_on_completion: {
      type: boolean,
      description:
        'true: the user is sent an e-mail when the file can be downloaded, if the server has a mail server; metadata.email tells whether it was sent.',
      example: false,
      create: 'optional',
    },
    priority: {
      type: priorityType,
      description: 'A lower number runs first.',
      example: 0,
      create: 'optional',
    },
    metadata: {
      ...(jobFields['metadata'] as ResourceField<ExportRow, JobContext>),
      show: (row) => ({ progress: { processed_records: 0 }, ...row.metadata }),
    },
    expires_at: {
      type: nullable(timestamp),
      description: 'When the file is removed.',
      example: '2026-03-03T09:20:41.120Z',
    },
    download_url: constantField(null),
  },
  examples: {
    create: {
      dataset_id: 4812,
      format: defaultFormat,
      params: { filters: [['gene', 'MYH7']], fields: ['gene', 'variant'], limit: 1000 },
    },
  },
});

/** The provenance of an exported file. */
export const exportProvenance = answerSchema(
  'ExportProvenance',
  'Where the records of the file of an export come from. Files of formats with a place for metadata have all of it but the properties of the file.',
  {
    export_id: { type: id, example: 5107 },
    format: { type: text, example: defaultFormat },
    dataset_id: { type: id, example: 4812 },
    dataset_full_path: {
      type: nullableText,
      description: 'The full path of the dataset when the export ran.',
      example: 'lab:Cohorts:/variants',
    },
    dataset_version: {
      type: integer,
      description: 'The version of the dataset, which counts from 0.',
      example: 3,
    },
    commit_id: {
      type: nullable(id),
      description: 'The last commit of that version; null before the first.',
      example: 5099,
    },
    content: {
      type: enumOf('query', 'commit'),
      description: 'query: the records that the query finds. commit: those that the commit wrote.',
      example: 'query',
    },
    query: {
      type: jsonObject,
      description: 'The value of the request.',
      example: { filters: [['gene', 'MYH7']], fields: ['gene', 'variant'] },
    },
    target_fields: { type: jsonObjects, example: [] },
    annotator_params: { type: jsonObject, example: {} },
    exported_at: { type: timestamp, example: '2026-03-02T09:15:01.000Z' },
    software: { type: text, example: 'strandlake' },
    software_version: { type: text, example: '0.1.0' },
    filename: { type: text, example: exampleFilename('variants-5107') },
    documents_count: { type: integer, description: 'Number of records.', example: 1204 },
    bytes: { type: integer, example: 48_211 },
    sha256: {
      type: text,
      description: 'SHA-256 of the file, in hex.',
      example: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    },
  },
);

/** Returns the view of an export. */
export async function exportView(presenter: JobPresenter, row: ExportRow): Promise<object> {
  return exportResource.view(row, await presenter.loadJobContext(row));
}
