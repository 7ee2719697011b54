/** Search bodies that contain a text, each under another key. */
export const bodiesWithText: readonly ((text: string) => object)[] = [
  (text) => ({ filters: [[text, 'x']] }),
  (text) => ({ filters: [['name', text]] }),
  (text) => ({ filters: [{ or: [['tags', text], ['full_path__prefix', text], ['vault__contains', text]] }] }),
  (text) => ({ filters: [['description', text], ['name__regexp', text]] }),
  (text) => ({ filters: [['id', text], [`type__${text}`, 1]] }),
  (text) => ({ query: text }),
  (text) => ({ query: `name:"${text.replaceAll(/["\\]/g, '\\$&')}"` }),
  (text) => ({ ordering: [text], fields: [text], exclude_fields: [text] }),
  (text) => ({ facets: { [text]: {}, name: { [text]: 1, facet_type: text } } }),
  (text) => ({ vault_scope: text, entities_match: text, include_vaults: text }),
  (text) => ({ [text]: text, limit: text }),
]; // prettier-ignore
