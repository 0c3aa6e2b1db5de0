import { inflateSync } from 'node:zlib';
import { nanoUsd } from '@millrace/platform/money';
import { testIds } from '@millrace/testing';
import { expect, it } from 'vitest';
import type { Invoice } from './invoice.ts';
import { firstLine, renderPdf } from './pdf.ts';

const invoiceOf = (lines: number, more: Partial<Invoice> = {}): Invoice => ({
  id: testIds.next('ivc'),
  orgId: testIds.next('org'),
  number: 42n,
  periodStart: new Date('2026-01-01T00:00:00Z'),
  periodEnd: new Date('2026-02-01T00:00:00Z'),
  total: nanoUsd(1_500_000_001n * BigInt(lines)),
  finalizedAt: new Date('2026-02-01T04:00:00Z'),
  issuer: 'Example Cloud Ltd\n1 Mill Lane',
  billedTo: 'Žluťoučký Kůň Ελλάδα Ввод 株式会社',
  lines: Array.from({ length: lines }, (_, index) => ({
    description: `Rental ${index + 1}: GPU time`,
    cause: { kind: 'rental', id: String(index + 1) },
    quantity: '744',
    unit: 'GPU-hours',
    amount: nanoUsd(1_500_000_001n),
  })),
  ...more,
});

const pagesOf = (bytes: Buffer): number => bytes.toString('latin1').match(/\/Type \/Page\b/g)?.length ?? 0;

function contentsOf(bytes: Buffer): string {
  const text = bytes.toString('latin1');
  // Lines end with \n alone in a PDF: a \r before `endstream` is the last byte of the compressed data.
  return [...text.matchAll(/stream\n([\s\S]*?)\nendstream/g)]
    .map(([, packed = '']) => {
      try {
        return inflateSync(Buffer.from(packed, 'latin1')).toString('latin1');
      } catch {
        return '';
      }
    })
    .join('\n');
}

it('renderPdf returns identical bytes each time, with embedded fonts', async () => {
  const invoice = invoiceOf(3);
  const [once, again] = [await renderPdf(invoice), await renderPdf({ ...invoice })];
  expect(once.subarray(0, 5).toString()).toBe('%PDF-');
  expect(once.equals(again)).toBe(true);
  const text = once.toString('latin1');
  expect(text).toContain('/FontFile2');
  expect(text).toContain('Invoice INV-00000042');
  expect(pagesOf(once)).toBe(1);
  // Text is stored as glyph numbers and mapped back for searching and copying.
  expect(contentsOf(once)).toContain('beginbfrange');
});

it('renderPdf adds pages for long invoices and stays small', async () => {
  const long = await renderPdf(invoiceOf(1_000));
  expect(pagesOf(long)).toBeGreaterThan(15);
  expect(pagesOf(long)).toBeLessThan(40);
  expect(long.length).toBeLessThan(500_000);
});

it.each([
  ['a name that the default font cannot show', { billedTo: '株式会社'.repeat(40) }],
  ['an address of many lines', { issuer: Array(40).fill('line').join('\n') }],
  ['a total below zero', { total: nanoUsd(-1n) }],
])('renderPdf renders %s', async (_, more) => {
  expect(pagesOf(await renderPdf(invoiceOf(2, more)))).toBeGreaterThan(0);
});

/** The glyph numbers in the file; 0 is the box of a missing glyph. */
function glyphsIn(bytes: Buffer): readonly number[] {
  const shown = [...contentsOf(bytes).matchAll(/\[([^\]]*)\] TJ/g)].map(([, text = '']) => text);
  return shown.flatMap((text) =>
    [...text.matchAll(/<([0-9a-f]+)>/g)].flatMap(([, hex = '']) =>
      (hex.match(/.{4}/g) ?? []).map((code) => Number.parseInt(code, 16)),
    ),
  );
}

it.each([
  ['Japanese', '株式会社テスト'],
  ['Chinese', '北京市示例科技有限公司 範例股份有限公司'],
  ['Korean', '주식회사 예시'],
  ['Thai and Hindi', 'บริษัท ตัวอย่าง उदाहरण'],
  ['a letter beyond the basic plane', '𠮷野家 😀'],
])(
  'renderPdf shows every letter of a name in %s, as recipient, as issuer and in a line',
  async (_script, name) => {
    const [line] = invoiceOf(1).lines;
    if (line === undefined) throw new Error('The invoice has no line.');
    const described = { ...line, description: `Rental 1 (${name})` };
    const bytes = await renderPdf(
      invoiceOf(1, { billedTo: name, issuer: `${name}\n1 Mill Lane`, lines: [described] }),
    );
    const glyphs = glyphsIn(bytes);
    expect(glyphs.length).toBeGreaterThan(100);
    expect(glyphs).not.toContain(0);
    expect(bytes.length).toBeLessThan(200_000);
  },
);

it('renderPdf loads the wide font only if a name needs it', async () => {
  const bytes = await renderPdf(invoiceOf(1, { billedTo: 'Žluťoučký Kůň Ελλάδα Ввод' }));
  expect(bytes.toString('latin1')).not.toContain('Unifont');
  expect(glyphsIn(bytes)).not.toContain(0);
});

it('firstLine returns the first line of an issuer, or the product name', () => {
  expect(['A\nB', ' A ', ''].map(firstLine)).toEqual(['A', 'A', 'Millrace']);
});
