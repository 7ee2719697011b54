import type { JsonObject } from '../../../engine/core/types.js';
import { budgets } from '../../../engine/core/budgets.js';
import type { ObjectRow } from '../../../engine/catalog/object-row.js';
import { checkFile } from '../../../scheduler/jobs/import/check.js';
import { fileNameOf, readUrl } from '../../../scheduler/fetch/url.js';
import { hintsOf, manifestEntries } from '../../../scheduler/jobs/import/manifest.js';
import { readEntityParams } from './entity-params.js';
import { Form, isObject } from '../../http/form.js';
import { readFlags } from './import-options.js';

/** A file of a manifest after its check. */
export interface ManifestFile {
  /** As the import keeps it. */
  readonly entry: JsonObject;
  /** What messages call it: its number and its name. */
  readonly label: string;
  /** Its own name, of the URL or of the object; null when neither is right. */
  readonly filename: string | null;
}

/** Finds a file object that the caller may read, or says why there is none. */
export type FindFile = (given: unknown) => Promise<ObjectRow | string>;

/**
 * Reads a manifest whole and notes all that is wrong with any of its files, each by number and name; undefined if it is no
 * list of files. Whether a URL may be opened is known only when it is: addresses change, and the task says so.
 */
export async function readManifest(
  form: Form,
  manifest: JsonObject,
  find: FindFile,
): Promise<readonly ManifestFile[] | undefined> {
  const given: unknown = manifest['files'];
  // One client unboxes a list of length one.
  const list: readonly unknown[] = Array.isArray(given) ? given : isObject(given) ? [given] : [];
  if (list.length === 0 || !list.every(isObject)) {
    return form.fail('manifest', 'A manifest needs a list of objects, "files".');
  }
  if (list.length > budgets.manifestFiles) {
    const message = `At most ${budgets.manifestFiles} files, not ${list.length} (budget manifestFiles).`;
    return form.fail('manifest', message);
  }
  const files: ManifestFile[] = [];
  for (const [index, entry] of list.entries()) {
    files.push(await readFile(form, index, entry as JsonObject, find));
  }
  return files;
}

/** Notes what is wrong with how the files are to be read, given what the request says of all of them. */
export function checkManifestReaders(
  form: Form,
  files: readonly ManifestFile[],
  readerParams: JsonObject | null,
  genomeBuild: string | null,
): void {
  for (const { entry, label, filename } of files) {
    if (filename === null) continue; // what is wrong with it has been said
    const [read] = manifestEntries({ files: [entry] });
    try {
      checkFile(hintsOf(filename, read ?? null), readerParams, genomeBuild);
    } catch (error) {
      absorb(form, label, error, new Map([['object_id', 'name']]));
    }
  }
}

async function readFile(
  form: Form,
  index: number,
  entry: JsonObject,
  find: FindFile,
): Promise<ManifestFile> {
  const own = new Form(entry);
  const name = own.text('name') ?? '';
  const numbered = `File ${index + 1}`;
  const named = (text: string): string =>
    text === '' ? numbered : `${numbered} ${JSON.stringify(text.slice(0, 100))}`;
  const url = own.text('url') ?? '';
  const objectId = own.raw('object_id') ?? '';
  let filename: string | null = null;
  if (url === '' && objectId === '') {
    const message = `Each file must have a url or an object_id; ${named(name)} has neither.`;
    form.fail('manifest', message);
  } else if (url !== '' && objectId !== '') {
    own.fail('url', 'Give only one of url and object_id.');
  } else if (url !== '') {
    const read = readUrl(url);
    if (typeof read === 'string') own.fail('url', `The url ${read}.`);
    else filename = fileNameOf(url);
  } else {
    const found = await find(objectId);
    if (typeof found === 'string') own.fail('object_id', found);
    else filename = found.filename;
  }
  const shape = entryShape(own);
  const label = named(name === '' ? (filename ?? '') : name);
  try {
    own.done();
  } catch (error) {
    absorb(form, label, error);
  }
  const place = url === '' ? { url: null, object_id: Number(objectId) } : { url, object_id: null };
  return { entry: { ...entry, ...placeIn(entry, place), ...shape }, label, filename };
}

/** The keys of the entry that say where the file is, as texts and numbers that nobody reads twice. */
function placeIn(entry: JsonObject, place: JsonObject): JsonObject {
  return Object.fromEntries(Object.entries(place).filter(([key]) => Object.hasOwn(entry, key)));
}

function entryShape(own: Form): JsonObject {
  own.text('format');
  const size = own.integer('size');
  if (size !== undefined && size < 0) own.fail('size', 'Must not be negative.');
  const md5 = own.text('md5') ?? '';
  if (md5 !== '' && !/^[0-9a-fA-F]{32}$/.test(md5)) own.fail('md5', 'Must be 32 hex digits.');
  const base64 = own.text('base64_md5') ?? '';
  const bytes = Buffer.from(base64, 'base64');
  if (base64 !== '' && (bytes.length !== 16 || bytes.toString('base64') !== base64)) {
    own.fail('base64_md5', 'Must be 16 bytes in base64.');
  } else if (base64 !== '' && md5 !== '' && bytes.toString('hex') !== md5.toLowerCase()) {
    own.fail('base64_md5', 'Is not the same as md5.');
  }
  own.object('reader_params');
  const entities = readEntityParams(own, 'entity_params');
  const validation = readFlags(own, 'validation_params');
  return {
    ...(size !== undefined && { size }),
    ...(entities !== undefined && { entity_params: entities }),
    ...(validation !== undefined && { validation_params: validation }),
  };
}

/** The errors of one file, under the manifest's key and with the file's label in front. */
function absorb(
  form: Form,
  label: string,
  error: unknown,
  keys: ReadonlyMap<string, string> = new Map(),
): void {
  const known = error as { code?: unknown; fields?: unknown } | null;
  if (known?.code !== 'invalid' || !isObject(known.fields)) throw error;
  for (const [key, value] of Object.entries(known.fields)) {
    const messages = Array.isArray(value) ? value.map(String).join(' ') : JSON.stringify(value);
    form.fail('manifest', `${label}, ${keys.get(key) ?? key}: ${messages}`);
  }
}
