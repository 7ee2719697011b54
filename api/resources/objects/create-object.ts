import { requireVault } from '../../http/require-resource.js';
import type { DatasetRow } from '../../../engine/catalog/datasets.js';
import type { ObjectRow } from '../../../engine/catalog/object-row.js';
import { fieldList } from '../fields/field-shape.js';
import type { Form } from '../../http/form.js';
import type { AppContext } from '../../http/app-context.js';
import type { Caller } from '../../http/request.js';
import type { ObjectBody } from '../shape.js';

const folderType = 'application/vnd.solvebio.folder';

/** What has been made; `dataset` is there when it is one. */
export interface Created {
  readonly object: ObjectRow;
  readonly dataset?: DatasetRow;
}

/** Makes a file, a folder or a dataset with its fields: all or nothing, with all that is wrong told at once. */
export async function createObject(
  context: AppContext,
  caller: Caller,
  form: Form,
  body: ObjectBody,
): Promise<Created> {
  const fields = fieldList(form, body.dataset.fields);
  if (body.objectType !== 'dataset' && fields.length > 0) {
    form.fail('fields', 'Only datasets have fields.');
  }
  if (body.dataset.storageClass === 'Archive') {
    form.fail('storage_class', 'Archiving is not available yet.');
  }
  // An id that cannot be read answers as if it did not exist, before anything else is said about the request.
  const vault =
    body.vaultId === undefined
      ? undefined
      : await requireVault(context.catalog, caller, body.vaultId);
  form.done();
  if (!vault) throw new Error('done() lets no form without a vault pass');
  const place = { vaultId: vault.id, parentId: body.parentId, userId: caller.user.id };
  const { objectType, object } = body;
  if (objectType !== 'dataset') {
    const mimetype = objectType === 'folder' ? folderType : (object.mimetype ?? null);
    return {
      object: await context.catalog.objects.create({ ...object, ...place, objectType, mimetype }),
    };
  }
  const { capacity, storageClass } = body.dataset;
  return context.catalog.transaction(async (tx) => {
    const created = await tx.datasets.create({
      ...object,
      ...place,
      description: object.description ?? object.filename,
      ...(capacity !== undefined && { capacity }),
      storageClass: storageClass ?? vault.defaultStorageClass ?? 'Standard',
    });
    for (const field of fields) {
      await tx.fields.create({ ...field, datasetId: created.dataset.id });
    }
    return created;
  });
}
