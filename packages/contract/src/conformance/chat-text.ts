import { backticked, parseFields } from './grammar.ts';
import type { Vocabulary } from './grammar.ts';
import type { Table } from './markdown.ts';
import type { Field, Shape } from './shape.ts';

/** Reads the prose about chat completions. */

/** Reads "list of objects {role, content}" and the roles in the notes as one message shape per role. */
export function withRoles(table: Table, fields: readonly Field[]): readonly Field[] {
  const notes = table.rows.find((row) => row[0] === 'messages')?.[2];
  if (notes === undefined) return fields;
  const branches = new Map<string, Shape>();
  return fields.map((field) => {
    const inner = field.shape.items?.fields;
    if (field.name !== 'messages' || inner === undefined) return field;
    for (const role of backticked(notes)) {
      const message = inner.map(({ name }): Field => {
        const shape: Shape = name === 'role' ? { kind: 'enum', values: [role] } : { kind: 'untyped' };
        return { name, shape, required: true };
      });
      branches.set(`role=${role}`, { kind: 'object', fields: message });
    }
    return { ...field, shape: { ...field.shape, items: { kind: 'oneOf', branches } } };
  });
}

/** Expands "usage {a, b, c} (integers)", which states the type once for all fields. */
export function expandUsage(text: string): string {
  return text.replace(/\{([\w, ]+)\} \(integers\)/, (_, names: string) => {
    const fields = names.split(', ').map((name) => `${name} integer`);
    return `{${fields.join(', ')}}`;
  });
}

/**
 * Reads the fields of stream chunks. A field that the last delta lacks is optional; one that may be null is
 * nullable.
 */
export function chunkShape(line: string, vocabulary: Vocabulary): Shape | undefined {
  const every =
    /^Stream response: a sequence of lines `data: <json chunk>`\. Each chunk has (\w+), (\w+), (\w+) array of \{(\w+), (\w+) \{(.*?)\}, (\w+) null\}\./.exec(
      line,
    );
  if (every === null) return undefined;
  const last =
    /The last chunk before the end has (\w+) `(.*?)`, (\w+), an empty (\w+) and (\w+) `stop`\. The stream ends with the line `data: \[DONE\]`\.$/.exec(
      line,
    );
  if (last === null) throw new Error('The text does not say how a chat stream ends.');
  const [, first = '', second = '', choices = '', index = '', delta = '', deltaFields = '', finish = ''] =
    every;
  const [, object = '', literal = '', created = '', emptied = '', finished = ''] = last;
  if (emptied !== delta || finished !== finish)
    throw new Error('The fields of the last chunk differ from those of the other chunks.');
  const untyped = (name: string): Field => ({ name, shape: { kind: 'untyped' }, required: true });
  const content = parseFields(deltaFields, vocabulary, { required: false });
  const choice: readonly Field[] = [
    untyped(index),
    { name: delta, shape: { kind: 'object', fields: content }, required: true },
    { name: finish, shape: { kind: 'string', nullable: true }, required: true },
  ];
  return {
    kind: 'object',
    fields: [
      untyped(first),
      untyped(second),
      untyped(created),
      { name: object, shape: { kind: 'enum', values: [literal] }, required: true },
      { name: choices, shape: { kind: 'array', items: { kind: 'object', fields: choice } }, required: true },
    ],
  };
}
