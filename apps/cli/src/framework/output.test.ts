import { describe, expect, it } from 'vitest';
import type { Context } from './context.ts';
import { UsageError } from './errors.ts';
import { printList, printRecord, type Column } from './output.ts';
import { truncateTo, padTo, safePainted, safeText, widthOf, wrap } from './text.ts';

it('safeText and safePainted remove characters that control a terminal or change the direction of text', () => {
  expect(safeText('a\u061cb')).toBe('a\ufffdb');
  // Concealed, inverse and blinking styles can hide or forge the text beside them.
  for (const code of [5, 6, 7, 8]) expect(safePainted(`a\u001b[${String(code)}mb`)).not.toContain('\u001b');
  expect(safeText('a\u001b[2Jb\u0007c\u009bd\u202ee\nf')).toBe('a\ufffd[2Jb\ufffdc\ufffdd\ufffde f');
});

it('widthOf returns the number of terminal columns', () => {
  expect([widthOf('abc'), widthOf('機械'), widthOf('\u001b[31mred\u001b[39m'), widthOf('e\u0301')]).toEqual([
    3, 4, 3, 1,
  ]);
  expect(padTo('機', 4)).toBe('機  ');
  expect(truncateTo('abcdef', 4)).toBe('abc…');
  expect(truncateTo('機械機械', 5)).toBe('機械…');
});

it('wrap breaks lines between words', () => {
  expect(wrap('one two three', 7)).toEqual(['one two', 'three']);
  expect(wrap('', 7)).toEqual([]);
});

interface Row {
  readonly name: string;
  readonly size: number | null;
}

const columns: readonly Column<Row>[] = [
  { name: 'name', value: ({ name }) => name },
  { name: 'size', align: 'right', value: ({ size }) => size },
  { name: 'twice', value: ({ name }) => name + name, extra: true },
];

/** The output of a list or record, with a minimal context. */
function printed(
  print: (context: Context) => void,
  options: { readonly isTty?: boolean; readonly columns?: readonly string[]; readonly json?: boolean } = {},
): { readonly out: string; readonly err: string } {
  let out = '';
  let err = '';
  const io = { out: (text: string) => void (out += text), isTty: options.isTty ?? false, columns: 24 };
  print({
    io: { ...io, paint: (_format: string, text: string) => text },
    output: { format: options.json === true ? 'json' : 'table', columns: options.columns },
    note: (text: string) => void (err += text),
  } as unknown as Context);
  return { out, err };
}

describe('printList', () => {
  const rows = [
    { name: 'one', size: 1 },
    { name: 'twenty-two \u001b[2J', size: 1200 },
  ];
  const print = (context: Context): void => {
    printList(context, rows, columns, { empty: 'none' });
  };

  it('prints a table with whole cells to a pipe, and one that fits to a terminal', () => {
    expect(printed(print).out).toBe(
      'NAME             SIZE\none                 1\ntwenty-two \ufffd[2J  1200\n',
    );
    const wide = [{ name: 'a name that is far too long for this', size: 7 }];
    const { out } = printed((context) => printList(context, wide, columns, { empty: '' }), { isTty: true });
    expect(out.split('\n').every((line) => widthOf(line) <= 24)).toBe(true);
    expect(out).toContain('…');
  });

  it('prints the requested columns, and names the existing ones for an unknown column', () => {
    expect(printed(print, { columns: ['SIZE', 'twice'] }).out.split('\n')[0]).toBe('SIZE  TWICE');
    expect(() => printed(print, { columns: ['colour'] })).toThrow(UsageError);
    expect(() => printed(print, { columns: ['name'], json: true })).toThrow(UsageError);
  });

  it('prints the hint for an empty list on standard error, and an empty array with --json', () => {
    const nothing = (context: Context): void => {
      printList(context, [], columns, { empty: 'The list is empty. Create one.' });
    };
    expect(printed(nothing)).toEqual({ out: '', err: 'The list is empty. Create one.' });
    expect(printed(nothing, { json: true })).toEqual({ out: '[]\n', err: '' });
  });

  it('prints lists of any length', () => {
    const many = Array.from({ length: 200_000 }, (_, index) => ({ name: String(index), size: null }));
    const { out } = printed((context) => printList(context, many, columns, { empty: '' }));
    expect(out.split('\n')).toHaveLength(200_002);
  });
});

it('printRecord prints one line per non-empty field', () => {
  const print = (context: Context): void => {
    printRecord(context, { name: 'one', size: null }, columns);
  };
  expect(printed(print).out).toBe('name  one\n');
  expect(printed(print, { columns: ['size', 'twice'] }).out).toBe('size   \ntwice  oneone\n');
});
