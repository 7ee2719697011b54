import { declareOperations, emptyAnswer, type RawContent } from '../../http/operation-row.js';
import { answerSchema, text } from '../../http/json-schema.js';

/** Where a file can be downloaded without credentials. */
export const signedDownload = answerSchema(
  'SignedDownload',
  'A signed address that works without credentials until it expires.',
  {
    url: {
      type: text,
      example: 'http://localhost:7878/v2/downloads/exports/5107?expires=1772530841&signature=q0…',
    },
    download_url: {
      type: text,
      description: 'The address of the file, as in url.',
      example: 'http://localhost:7878/v2/downloads/exports/5107?expires=1772530841&signature=q0…',
    },
  },
);

/** The query parameter of operations that answer with an address or a redirect to it. */
export const redirectParam = {
  redirect: {
    description: 'false or empty: answer the address as JSON instead of a redirect.',
    example: 'false',
  },
};

const csvExample = 'gene,variant\r\nMYH7,GRCH38-14-23424840-23424840-T\r\n';

/** Declares the answer of a download; `example` is the content of a file, or what a file is when decompressed. */
function downloadAnswer(description: string, example: string): RawContent {
  return { description, examples: { 'application/octet-stream': example } };
}

const rejectedRecordExample = {
  file: 'variants.csv',
  line: 4812,
  code: 301,
  field: 'pos',
  message: '"x" is not a number',
  errors: 2,
  more: [{ code: 304, field: 'af', message: 'NaN cannot be stored' }],
  text: 'chr1,x,NaN',
  text_bytes: 10,
};

const uploadedBytes: RawContent = { description: 'The bytes.', examples: { '*/*': csvExample } };
const uploadAnswer = emptyAnswer(
  'The bytes are stored. The header `ETag` has their MD5, in quotes.',
);

/** The parameters of signed addresses. */
const signedPathParams = {
  id: {
    description: 'Of the object, or of the export, import or migration that wrote the file.',
    example: '4811',
  },
  revision: { description: 'The version of the file.', example: '1' },
  number: { description: 'The part of the file, from 1.', example: '1' },
};

/** The HTTP operations that receive the content of files. */
export const uploadOperations = declareOperations('uploads', 'Objects', {
  put: {
    method: 'PUT',
    paths: ['/v2/uploads/:id/:revision'],
    pathParams: signedPathParams,
    summary: 'Stores the bytes of a file, sent to its signed `upload_url`.',
    body: uploadedBytes,
    answer: uploadAnswer,
  },
  part: {
    method: 'PUT',
    paths: ['/v2/uploads/:id/parts/:number'],
    pathParams: signedPathParams,
    summary: 'Stores the bytes of a part of a file, sent to its signed `upload_url`.',
    body: uploadedBytes,
    answer: uploadAnswer,
  },
});

/** The HTTP operations that send the content of files. */
export const downloadOperations = declareOperations('downloads', 'Objects', {
  object: {
    method: 'GET',
    paths: ['/v2/downloads/objects/:id/:revision'],
    pathParams: signedPathParams,
    summary: 'Returns the bytes of a file. The signed address is the credential.',
    answer: downloadAnswer('The bytes as they were uploaded.', csvExample),
  },
  export: {
    method: 'GET',
    paths: ['/v2/downloads/exports/:id'],
    pathParams: signedPathParams,
    tag: 'Exports',
    summary: 'Returns the file of an export. The signed address is the credential.',
    answer: downloadAnswer('The file, in the format of the export.', csvExample),
  },
  rejected: {
    method: 'GET',
    paths: ['/v2/downloads/rejected/:id'],
    pathParams: signedPathParams,
    tag: 'Imports',
    summary:
      'Returns the records that an import or a migration rejected, with the reasons, as gzipped JSON lines. The signed address is the credential.',
    answer: downloadAnswer(
      'JSON lines, compressed with gzip; the example is a line of them.',
      `${JSON.stringify(rejectedRecordExample)}\n`,
    ),
  },
});
