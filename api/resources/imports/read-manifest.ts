import type { JsonObject } from '../../../engine/core/types.js';
import { budgets } from '../../../engine/core/budgets.js';
import type { ObjectRow } from '../../../engine/catalog/object-row.js';
import { checkFileHints } from '../../../scheduler/jobs/import/reader-choice.js';
import {
  id,
  integer,
  jsonObject,
  nullable,
  nullableText,
  type ValueType,
} from '../../http/json-schema.js';
import { fileNameOf, parseAllowedUrl } from '../../../scheduler/fetch/url.js';
import { fileHintsOf, manifestEntries } from '../../../scheduler/jobs/import/manifest.js';
import { Form, isObject } from '../../http/form.js';
import { entityParams, validationParams } from '../shared/import-params.js';

/** A manifest: the files to import together, each by `url` or by `object_id`. */
export const manifestType: ValueType = {
  schema: {
    type: 'object',
    properties: {
      files: {
        type: 'array',
        items: {
          type: 'object',
          properties: {
            url: nullableText.schema,
            object_id: nullable(id).schema,
            name: nullableText.schema,
            format: nullableText.schema,
            size: nullable(integer).schema,
            md5: nullableText.schema,
            base64_md5: nullableText.schema,
            reader_params: nullable(jsonObject).schema,
            entity_params: nullable(entityParams.type).schema,
            validation_params: nullable(validationParams.type).schema,
          },
        },
      },
    },
  },
};

/** A checked file of a manifest. */
export interface ManifestFile {
  /** The entry in the form in which the import stores it. */
  readonly entry: JsonObject;
  /** The number and the name of the entry, for error messages. */
  readonly label: string;
  /** The file name of the URL or of the object; null unless the entry has exactly one of them and it is valid. */
  readonly filename: string | null;
}

/** Returns the file object with this id, or an error message if there is no uploaded one that the caller may read. */
type FindFile = (objectId: unknown) => Promise<ObjectRow | string>;

/**
 * Reads a manifest. All errors are added to the form, those of a file with its number and name; returns undefined if the list of files is
 * missing, malformed or too long. Of a URL, only the form is checked; the address of its host is checked when the task runs, because the
 * host name may resolve to another address by then.
 */
export async function readManifest(
  form: Form,
  manifest: JsonObject,
  findFile: FindFile,
): Promise<readonly ManifestFile[] | undefined> {
  const files: unknown = manifest['files'];
  // One client sends a list with one element as that element alone.
  const entries: readonly unknown[] = Array.isArray(files) ? files : isObject(files) ? [files] : [];
  if (entries.length === 0 || !entries.every(isObject)) {
    return form.fail('manifest', 'A manifest needs a list of objects, "files".');
  }
  if (entries.length > budgets.manifestFiles) {
    const message = `A manifest takes at most ${budgets.manifestFiles} files, not ${entries.length}: split them over several imports.`;
    return form.fail('manifest', message);
  }
  const manifestFiles: ManifestFile[] = [];
  for (const [index, entry] of entries.entries()) {
    manifestFiles.push(await readManifestEntry(form, index, entry as JsonObject, findFile));
  }
  return manifestFiles;
}

/**
 * Checks the readers of all files of a manifest. `readerParams` and `genomeBuild` are those of the request. Errors are added to the form.
 */
export function checkManifestReaders(
  form: Form,
  files: readonly ManifestFile[],
  readerParams: JsonObject | null,
  genomeBuild: string | null,
): void {
  for (const { entry, label, filename } of files) {
    if (filename === null) continue; // the error has already been reported for the form
    const [parsedEntry] = manifestEntries({ files: [entry] });
    try {
      checkFileHints(fileHintsOf(filename, parsedEntry ?? null), readerParams, genomeBuild);
    } catch (error) {
      addErrorsOf(form, label, error, new Map([['object_id', 'name']]));
    }
  }
}

async function readManifestEntry(
  form: Form,
  index: number,
  entry: JsonObject,
  findFile: FindFile,
): Promise<ManifestFile> {
  const entryForm = new Form(entry);
  const name = entryForm.text('name') ?? '';
  const numberedLabel = `File ${index + 1}`;
  const namedLabel = (text: string): string =>
    text === '' ? numberedLabel : `${numberedLabel} ${JSON.stringify(text.slice(0, 100))}`;
  const url = entryForm.text('url') ?? '';
  const objectId = entryForm.raw('object_id') ?? '';
  let filename: string | null = null;
  if (url === '' && objectId === '') {
    const message = `Each file must have a url or an object_id; ${namedLabel(name)} has neither.`;
    form.fail('manifest', message);
  } else if (url !== '' && objectId !== '') {
    entryForm.fail('url', 'Give only one of url and object_id.');
  } else if (url !== '') {
    const parsedUrl = parseAllowedUrl(url);
    if (typeof parsedUrl === 'string') entryForm.fail('url', `The url ${parsedUrl}.`);
    else filename = fileNameOf(url);
  } else {
    const file = await findFile(objectId);
    if (typeof file === 'string') entryForm.fail('object_id', file);
    else filename = file.filename;
  }
  const otherKeys = readEntryAttributes(entryForm);
  const label = namedLabel(name === '' ? (filename ?? '') : name);
  try {
    entryForm.throwIfInvalid();
  } catch (error) {
    addErrorsOf(form, label, error);
  }
  const source = url === '' ? { url: null, object_id: Number(objectId) } : { url, object_id: null };
  return { entry: { ...entry, ...pickPresentKeys(entry, source), ...otherKeys }, label, filename };
}

/** Returns the members of `source` whose keys the entry has, too. */
function pickPresentKeys(entry: JsonObject, source: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(source).filter(([key]) => Object.hasOwn(entry, key)));
}

function readEntryAttributes(entryForm: Form): JsonObject {
  entryForm.text('format');
  const size = entryForm.integer('size');
  if (size !== undefined && size < 0) entryForm.fail('size', 'Must not be negative.');
  const md5 = entryForm.text('md5') ?? '';
  if (md5 !== '' && !/^[0-9a-fA-F]{32}$/.test(md5)) entryForm.fail('md5', 'Must be 32 hex digits.');
  const base64 = entryForm.text('base64_md5') ?? '';
  const bytes = Buffer.from(base64, 'base64');
  if (base64 !== '' && (bytes.length !== 16 || bytes.toString('base64') !== base64)) {
    entryForm.fail('base64_md5', 'Must be 16 bytes in base64.');
  } else if (base64 !== '' && md5 !== '' && bytes.toString('hex') !== md5.toLowerCase()) {
    entryForm.fail('base64_md5', 'Is not the same as md5.');
  }
  entryForm.object('reader_params');
  const entities = entityParams.type.read?.(entryForm, 'entity_params');
  const validation = validationParams.type.read?.(entryForm, 'validation_params');
  return {
    ...(size !== undefined && { size }),
    ...(entities !== undefined && { entity_params: entities }),
    ...(validation !== undefined && { validation_params: validation }),
  };
}

/**
 * Adds the field errors of `error`, which the check of one file has thrown, to the form, under the key `manifest` and with the label of the
 * file. `keys` maps keys of the error to those of the entry, where they differ. Throws any other error again.
 */
function addErrorsOf(
  form: Form,
  label: string,
  error: unknown,
  keys: ReadonlyMap<string, string> = new Map(),
): void {
  const formError = error as { code?: unknown; fields?: unknown } | null;
  if (formError?.code !== 'invalid' || !isObject(formError.fields)) throw error;
  for (const [key, value] of Object.entries(formError.fields)) {
    const messages = Array.isArray(value) ? value.map(String).join(' ') : JSON.stringify(value);
    form.fail('manifest', `${label}, ${keys.get(key) ?? key}: ${messages}`);
  }
}
