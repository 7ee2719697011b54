import type { Database } from './database.js';
import {
  savedResourceColumns,
  savedResourceTable,
  type SavedResourceRow,
  type SavedResourceTable,
} from './saved-resource.js';
import { hashSecret } from './secrets.js';
import { containsText, sql } from './sql.js';
import { tableCodec } from './table-codec.js';
import type { TokenRow } from './tokens.js';

/** An OAuth2 client. Its id, as text, is the client identifier (RFC 6749, section 2.2). */
export interface ApplicationRow extends SavedResourceRow {
  readonly name: string;
  /** Whether the application can keep a secret (RFC 6749, section 2.1). */
  readonly clientType: 'confidential' | 'public';
  /** The redirection URIs, separated by single spaces. */
  readonly redirectUris: string;
  /** The widest scope that the application may be granted. */
  readonly scopes: TokenRow['scope'];
  readonly webUrl: string | null;
  readonly helpUrl: string | null;
  readonly sourceUrl: string | null;
  readonly tags: readonly string[];
  /** Whether users of every account may see and authorize the application, not only those of its own account. */
  readonly isPublic: boolean;
  /** A number that grows whenever the secret is replaced. */
  readonly secretVersion: number;
}

const applications = tableCodec<ApplicationRow>(
  'applications',
  {
    ...savedResourceColumns,
    name: 'plain',
    clientType: 'plain',
    redirectUris: 'plain',
    scopes: 'plain',
    webUrl: 'plain',
    helpUrl: 'plain',
    sourceUrl: 'plain',
    tags: 'json',
    isPublic: 'flag',
    secretVersion: 'plain',
  },
  {},
);

/** Returns access to the table of applications. Deleting an application also deletes its grants and their tokens. */
export function applicationTable(db: Database): SavedResourceTable<ApplicationRow> {
  const from = sql`applications`;
  return savedResourceTable(db, applications, 'application', {
    from,
    owner: from,
    isPublic: sql`applications.is_public = 1`,
    conditions: ({ name, text, isPublic, tags }) => [
      ...(name === undefined ? [] : [sql`applications.name = ${name}`]),
      ...(text === undefined
        ? []
        : [
            sql`(${containsText(sql`applications.name`, text)}
              OR ${containsText(sql`coalesce(applications.description, '')`, text)})`,
          ]),
      ...(isPublic === undefined ? [] : [sql`applications.is_public = ${isPublic}`]),
      ...(tags ?? []).map(
        (tag) => sql`EXISTS (SELECT 1 FROM json_each(applications.tags) WHERE value = ${tag})`,
      ),
    ],
  });
}

/** Returns the secret of an application, 64 hexadecimal digits. It is computed from the server's key and is not stored. */
export function clientSecretOf(
  { id, secretVersion }: Pick<ApplicationRow, 'id' | 'secretVersion'>,
  key: Uint8Array,
): string {
  return hashSecret('client secret', `${id} ${secretVersion}`, key);
}
