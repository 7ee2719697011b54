import type { ApplicationRow } from '../../../engine/catalog/applications.js';
import type { Form } from '../../http/form.js';
import { constantField, declareResource, type ResourceField } from '../../http/resource.js';
import {
  boolean,
  filledText,
  id,
  nullableText,
  enumOf,
  withReader,
  text,
} from '../../http/json-schema.js';
import {
  timestampFields,
  descriptionField,
  ownerFields,
  tagsField,
  type WithUser,
} from '../shared/common-fields.js';

/** The data that the view of an application shows in addition to its row. */
export interface ApplicationContext extends WithUser {
  readonly origin: string;
}

const optionallyWritable = { create: 'optional', update: true } as const;

/** Reads redirection URIs, separated by spaces or as a list. */
function readRedirectUris(form: Form, key: string): string | undefined {
  const givenUris = form.textList(key)?.flatMap((item) => item.split(/\s+/).filter(Boolean));
  if (givenUris === undefined) return undefined;
  if (givenUris.length === 0) return form.fail(key, 'This field is required.');
  for (const uri of givenUris) {
    const problem = redirectUriProblem(uri);
    if (problem !== undefined) form.fail(key, `${JSON.stringify(uri.slice(0, 200))} ${problem}`);
  }
  return givenUris.join(' ');
}

/**
 * Returns why a URI cannot be registered as a redirection endpoint (RFC 6749, section 3.1.2; RFC 9700, section 2.6; RFC 8252, section 7.1
 * for app schemes). Only a plain host is allowed, because the consent page names it in its content security policy.
 */
function redirectUriProblem(uri: string): string | undefined {
  const match = /^([a-z][a-z0-9+.-]*):(?:\/\/([^/?#]*))?[^#]*(#.*)?$/is.exec(uri);
  const [, scheme = '', authority = '', fragment] = match ?? [];
  if (match === null || !/^[\x21-\x7e]+$/.test(uri) || !URL.canParse(uri)) {
    return 'is not an absolute URI.';
  }
  if (fragment !== undefined) return 'has a fragment; leave it out.';
  const isPlain = /^(?:[a-z0-9.-]+|\[[0-9a-f:.]+\])(?::\d{1,5})?$/i.test(authority);
  const isWeb = /^https?$/i.test(scheme);
  if (!isPlain && (isWeb || authority !== '')) {
    return 'has user information or an unusual host; write only host and port.';
  }
  if (/^https$/i.test(scheme) || (!isWeb && scheme.includes('.'))) return undefined;
  if (/^http$/i.test(scheme)) {
    const isLoopback = /^(?:localhost|127\.\d+\.\d+\.\d+|\[::1\])(?::\d+)?$/i.test(authority);
    return isLoopback ? undefined : 'must use https, except on this machine (http://127.0.0.1/…).';
  }
  return 'must use https, http on this machine, or a scheme with a dot, such as org.example.app:/callback.';
}

/** Reads the address of a web page, or null. */
function readWebAddress(form: Form, key: string): string | null | undefined {
  const givenText = form.nullableText(key);
  if (givenText === undefined || givenText === null || givenText === '')
    return givenText === '' ? null : givenText;
  if (/^https?:\/\//i.test(givenText) && URL.canParse(givenText)) return givenText;
  const quotedText = JSON.stringify(givenText.slice(0, 200));
  return form.fail(
    key,
    `${quotedText} is not the address of a web page, with https:// or http://.`,
  );
}

const webAddressField = {
  ...optionallyWritable,
  type: withReader(nullableText, readWebAddress),
  example: 'https://apps.example.org/variants',
  initial: null,
};

const applicationFields: Readonly<
  Record<string, ResourceField<ApplicationRow, ApplicationContext>>
> = {
  class_name: constantField('Application'),
  id: { type: id, example: 7 },
  client_id: {
    type: text,
    description: 'The id as text, which OAuth2 calls the client identifier.',
    example: '7',
    show: (row) => String(row.id),
  },
  url: {
    type: text,
    example: 'http://localhost:7878/v2/applications/7',
    show: (row, { origin }) => `${origin}/v2/applications/${row.id}`,
  },
  name: { type: filledText, example: 'Variant browser', create: 'required', update: true },
  description: { ...descriptionField, initial: null, example: 'Shows the variants of a panel.' },
  client_type: {
    ...optionallyWritable,
    type: enumOf('confidential', 'public'),
    description:
      'confidential: it sends its secret; public: it cannot keep one and has to use PKCE.',
    example: 'confidential',
    initial: 'confidential',
  },
  redirect_uris: {
    type: withReader(text, readRedirectUris),
    description:
      'Separated by spaces. An authorization request has to name one of them, letter for letter.',
    example: 'https://apps.example.org/callback',
    create: 'required',
    update: true,
  },
  scopes: {
    ...optionallyWritable,
    type: enumOf('read', 'read write'),
    description: 'The most that users can grant it.',
    example: 'read',
    initial: 'read',
  },
  web_url: webAddressField,
  help_url: { ...webAddressField, example: null },
  source_url: { ...webAddressField, example: null },
  tags: { ...tagsField, initial: [], example: ['browser'] },
  is_public: {
    ...optionallyWritable,
    type: boolean,
    description: 'Whether users of every account may see and authorize it.',
    example: false,
    initial: false,
  },
  ...ownerFields,
  ...timestampFields,
};

/** An application: a client of OAuth2 (contract 18). */
export const application = declareResource<ApplicationRow, ApplicationContext>({
  name: 'Application',
  description: 'An application that users may authorize, by OAuth2, to act in their name.',
  fields: applicationFields,
  examples: {
    create: { name: 'Variant browser', redirect_uris: 'https://apps.example.org/callback' },
  },
});

interface ApplicationSecretContext extends ApplicationContext {
  readonly clientSecret: string;
}

/** An application with its secret, which only the operations on the secret show. */
export const applicationSecret = declareResource<ApplicationRow, ApplicationSecretContext>({
  name: 'ApplicationSecret',
  description: 'An application with its secret.',
  fields: {
    ...(applicationFields as Readonly<
      Record<string, ResourceField<ApplicationRow, ApplicationSecretContext>>
    >),
    client_secret: {
      type: text,
      example: '5f1d7c0a4be2935f1d7c0a4be2935f1d7c0a4be2935f1d7c0a4be2935f1d7c0a',
      show: (_, { clientSecret }) => clientSecret,
    },
  },
});
