import type { JsonObject } from '../../../engine/core/types.js';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import type { FileVersionRow } from '../../../engine/catalog/file-versions.js';
import type { ObjectRow } from '../../../engine/catalog/object-row.js';
import type { AppContext } from '../../http/app-context.js';
import type { Form } from '../../http/form.js';
import type { Caller } from '../../http/api-request.js';
import { requireVault } from '../../http/require-resource.js';
import { readFieldList } from '../fields/read-field.js';
import { readTemplate, withTemplateFields } from '../shared/named-template.js';
import { readShortcutTarget } from '../shared/shortcut.js';
import { beginMultipartIfRequired } from '../uploads/multipart-upload.js';
import { unchangeableMessages } from '../shared/unchangeable.js';
import type { ObjectValues } from '../shared/object.js';

const folderMimetype = 'application/vnd.solvebio.folder';
const shortcutMimetype = 'application/vnd.solvebio.shortcut';

/** A created object, with its dataset if it is a dataset, or with the version of a file whose content is expected. */
export interface CreatedObject {
  readonly object: ObjectRow;
  readonly version?: FileVersionRow;
  readonly dataset?: DatasetRow;
}

/**
 * Creates a file or a version of a file, a folder, a shortcut, or a dataset with its fields, from a request whose `values` have been read.
 * It creates everything or nothing. It reports the mistakes in the form together; if the vault does not
 * exist or the caller may not write to it, only that is reported.
 */
export async function createObject(
  context: AppContext,
  caller: Caller,
  form: Form,
  values: ObjectValues,
): Promise<CreatedObject> {
  const { vaultId, fields: definitions = [], capacity, storageClass, ...rest } = values;
  const { parentId = null, objectType = 'file', filename = '', ...object } = rest;
  const template = await readTemplate(context.catalog, caller, form);
  const givenFields = withTemplateFields(template, definitions);
  const storedFields = givenFields.map((field) =>
    isTransient(field) || template?.fields.includes(field) ? storedDefinition(field) : field,
  );
  const fields = readFieldList(form, storedFields).filter((_, i) => !isTransient(givenFields[i]!));
  if (objectType !== 'dataset' && fields.length > 0) {
    form.fail('fields', 'Only datasets have fields.');
  }
  if (objectType !== 'dataset' && storageClass !== undefined) {
    form.fail('storage_class', unchangeableMessages.storageClass);
  }
  if (objectType !== 'dataset' && capacity !== undefined) {
    form.fail('capacity', 'Only datasets have a capacity.');
  }
  const target = await readShortcutTarget(context.catalog, caller, form, objectType);
  // A vault that does not exist, or that the caller may not write to, is reported alone, before all mistakes in the form.
  const vault =
    vaultId === undefined ? undefined : await requireVault(context.catalog, caller, vaultId);
  form.throwIfInvalid();
  if (!vault) throw new Error('throwIfInvalid() lets no form without a vault pass');
  const ownedObject = { ...object, filename, vaultId: vault.id, parentId, userId: caller.user.id };
  if (objectType === 'file') {
    return context.catalog.transaction(async (tx) => {
      const createdFile = await tx.objects.createFile({
        ...ownedObject,
        mimetype: object.mimetype ?? null,
      });
      await beginMultipartIfRequired(tx, createdFile.version, context.limits);
      return createdFile;
    });
  }
  if (objectType !== 'dataset') {
    const mimetype = objectType === 'folder' ? folderMimetype : shortcutMimetype;
    const newObject = { ...ownedObject, objectType, mimetype, ...(target && { target }) };
    return { object: await context.catalog.objects.create(newObject) };
  }
  const { size: _size, md5: _md5, ...dataset } = ownedObject;
  return context.catalog.transaction(async (tx) => {
    const createdDataset = await tx.datasets.create({
      ...dataset,
      description: object.description ?? filename,
      ...(capacity !== undefined && { capacity }),
      storageClass: storageClass ?? vault.defaultStorageClass ?? 'Standard',
    });
    for (const field of fields) {
      await tx.fields.create({ ...field, datasetId: createdDataset.dataset.id });
    }
    return createdDataset;
  });
}

/**
 * Returns whether a field of a request or a template is transient.
 * Choice: clients copy the fields of a new dataset from a template. Transient fields are checked like all others, but not created.
 */
function isTransient(field: JsonObject): boolean {
  return field['is_transient'] === true;
}

/**
 * Returns a field of a template, or a transient field of a request, as a dataset field. An `expression` that is a constant is left out,
 * because only imports have constants.
 */
function storedDefinition(field: JsonObject): JsonObject {
  const { expression } = field;
  return { ...field, is_transient: undefined, expression: typeof expression === 'string' ? expression : null }; // prettier-ignore
}
