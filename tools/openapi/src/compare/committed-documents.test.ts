import { contract } from '@millrace/contract';
import { buildDocument, documentNames } from '@millrace/contract/openapi';
import { describe, expect, it } from 'vitest';
import { findBreakingChanges } from './document.ts';

type Schemas = Record<string, Readonly<Record<string, unknown>>>;

/** Compares the real documents, where a mistake of the comparison costs most. */
describe.each(documentNames)('findBreakingChanges with the %s document', (name) => {
  const document = buildDocument(contract, name);
  const answered = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, { 'x-aliases': aliases = [] }]) =>
      [path, ...aliases].map((each) => `${method.toUpperCase()} ${each.replaceAll(/\{[^}]*\}/g, '{}')}`),
    ),
  );

  it('reports nothing for the same document', () => {
    expect(findBreakingChanges(document, document)).toEqual([]);
  });

  it('reports the removal of any path', () => {
    const found = findBreakingChanges(document, { ...document, paths: {} });
    expect(found.map(({ at }) => at).toSorted()).toEqual(answered.toSorted());
    for (const { rule } of found) expect(rule).toBe('operation-removed');
  });

  // Only every tenth component, because comparing whole documents takes a tenth of a second.
  const objects = Object.entries(document.components.schemas).filter(([, schema]) => 'properties' in schema);
  const sample = objects.filter((_, index) => index % 10 === 0);

  it.each(sample)('reports the removal of a field of %s', (component, { properties, required, ...rest }) => {
    // The last field, because the first may be a discriminator, which is reported differently.
    const names = Object.keys(properties as object);
    const [field = ''] = names.slice(-1);
    const others = names.slice(0, -1);
    const without = {
      ...rest,
      properties: Object.fromEntries(others.map((name) => [name, (properties as Schemas)[name] ?? {}])),
      ...(Array.isArray(required) ? { required: required.filter((name) => name !== field) } : {}),
    };
    const schemas: Schemas = { ...document.components.schemas, [component]: without };
    const after = { ...document, components: { ...document.components, schemas } };
    expect(findBreakingChanges(document, after).map(({ what }) => what)).toContain(`${field} was removed`);
  });
});
