import { contract } from '@millrace/contract';
import { buildDocument, documentNames } from '@millrace/contract/openapi';
import { describe, expect, it } from 'vitest';
import { findBreakingChanges } from './document.ts';

type Schemas = Record<string, Readonly<Record<string, unknown>>>;

/** The comparison on the documents it is for, where a mistake in it would cost most. */
describe.each(documentNames)('the %s document', (name) => {
  const document = buildDocument(contract, name);
  const answered = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).flatMap(([method, { 'x-aliases': aliases = [] }]) =>
      [path, ...aliases].map((each) => `${method.toUpperCase()} ${each.replaceAll(/\{[^}]*\}/g, '{}')}`),
    ),
  );

  it('does not break itself', () => {
    expect(findBreakingChanges(document, document)).toEqual([]);
  });

  it('breaks by the loss of any path that is answered', () => {
    const found = findBreakingChanges(document, { ...document, paths: {} });
    expect(found.map(({ at }) => at).toSorted()).toEqual(answered.toSorted());
    for (const { rule } of found) expect(rule).toBe('operation-removed');
  });

  // Every tenth component: a comparison of whole documents takes a tenth of a second.
  const objects = Object.entries(document.components.schemas).filter(([, schema]) => 'properties' in schema);
  const sample = objects.filter((_, index) => index % 10 === 0);

  it.each(sample)('breaks by the loss of a field of %s', (component, { properties, required, ...rest }) => {
    // The last one: the first may be what tells alternatives apart, and then another thing is reported.
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
    expect(findBreakingChanges(document, after).map(({ what }) => what)).toContain(`${field} is gone`);
  });
});
