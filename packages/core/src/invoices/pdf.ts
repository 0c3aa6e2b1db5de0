import { formatUsd } from '@millrace/platform/money';
import PDFDocument from 'pdfkit';
import { registerFonts, setFontFor } from './pdf-fonts.ts';
import { numberText, type Invoice, type InvoiceLine } from './invoice.ts';

/**
 * Renders an invoice as PDF. The same invoice gives the same bytes: nothing depends on the time of the request. Used
 * glyphs are embedded, so that it looks the same everywhere.
 */

const page = { width: 595.28, height: 841.89, margin: 50 } as const;
const right = page.width - page.margin;
const width = right - page.margin;
const bottom = page.height - page.margin - 20;
const columns = {
  description: { x: page.margin, width: 235 },
  quantity: { x: page.margin + 240, width: 90 },
  unit: { x: page.margin + 335, width: 60 },
  amount: { x: page.margin + 395, width: width - 395 },
} as const;
const grey = '#555555';
const LINES_AT_ONCE = 20;

type Document = InstanceType<typeof PDFDocument>;

export async function renderPdf(invoice: Invoice): Promise<Buffer> {
  const number = numberText(invoice.number);
  const document = new PDFDocument({
    size: 'A4',
    margin: page.margin,
    bufferPages: true,
    lang: 'en',
    // Without this the library loads Helvetica, from a path that a bundle does not have.
    font: '',
    info: {
      Title: `Invoice ${number}`,
      Author: firstLine(invoice.issuer),
      CreationDate: invoice.finalizedAt,
      ModDate: invoice.finalizedAt,
    },
  });
  const bytes = collectBytes(document);
  const descriptions = invoice.lines.map((line) => line.description);
  await registerFonts(document, [invoice.issuer, invoice.billedTo, ...descriptions]);
  drawHead(document, invoice, number);
  await drawLines(document, invoice.lines);
  drawTotal(document, invoice);
  numberPages(document, number);
  document.end();
  return bytes;
}

export function firstLine(text: string): string {
  return text.split('\n', 1)[0]?.trim() || 'Millrace';
}

function collectBytes(document: Document): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>();
  const chunks: Buffer[] = [];
  document.on('data', (chunk: Buffer) => chunks.push(chunk));
  document.once('end', () => resolve(Buffer.concat(chunks)));
  document.once('error', reject);
  return promise;
}

const dayText = (at: Date): string => at.toISOString().slice(0, 10);

function drawHead(document: Document, invoice: Invoice, number: string): void {
  const lastDay = new Date(invoice.periodEnd.getTime() - 1);
  document.font('bold').fontSize(20).text('Invoice', page.margin, page.margin);
  document.fontSize(9).fillColor(grey);
  document.y = page.margin;
  writeLines(document, invoice.issuer, page.margin + 250, { width: width - 250, align: 'right' });
  document.fillColor('black').moveDown(2);
  const top = Math.max(document.y, page.margin + 50);
  const facts = [
    ['Number', number],
    ['Issued', dayText(invoice.finalizedAt)],
    ['Period', `${dayText(invoice.periodStart)} to ${dayText(lastDay)} (UTC)`],
    ['Billed to', `${invoice.billedTo}\n${invoice.orgId}`],
  ] as const;
  document.y = top;
  for (const [name, value] of facts) {
    const { y } = document;
    document.font('bold').text(name, page.margin, y, { width: 80 });
    document.y = y;
    writeLines(document, value, page.margin + 85, { width: width - 85 });
    document.moveDown(0.3);
  }
  document.moveDown(1.5);
  drawRow(
    document,
    { description: 'Description', quantity: 'Quantity', unit: 'Unit', amount: 'USD' },
    'bold',
  );
}

function writeLines(
  document: Document,
  text: string,
  x: number,
  options: { readonly width: number; readonly align?: 'right' },
): void {
  for (const line of text.split('\n')) {
    const shown = setFontFor(document, 'plain', line);
    document.text(shown === '' ? ' ' : shown, x, document.y, options);
  }
}

type Row = Readonly<Record<keyof typeof columns, string>>;

function drawRow(document: Document, row: Row, font: 'plain' | 'bold'): void {
  document.fontSize(8);
  const height = Math.max(
    ...(['description', 'quantity', 'amount'] as const).map((name) =>
      document.heightOfString(setFontFor(document, font, row[name]), { width: columns[name].width }),
    ),
  );
  if (document.y + height > bottom) document.addPage();
  const { y } = document;
  const put = (name: keyof typeof columns, align: 'left' | 'right'): void => {
    const shown = setFontFor(document, font, row[name]);
    document.text(shown, columns[name].x, y, { width: columns[name].width, align });
  };
  put('description', 'left');
  put('quantity', 'right');
  put('unit', 'left');
  put('amount', 'right');
  document.y = y + height + 3;
}

async function drawLines(document: Document, lines: readonly InvoiceLine[]): Promise<void> {
  drawRule(document);
  for (const [index, { description, quantity, unit, amount }] of lines.entries()) {
    // Layout is slow, so it yields to other requests regularly.
    if (index % LINES_AT_ONCE === LINES_AT_ONCE - 1) await yieldToEventLoop();
    drawRow(document, { description, quantity, unit, amount: formatUsd(amount) }, 'plain');
  }
  drawRule(document);
}

const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => void setImmediate(resolve));

function drawRule(document: Document): void {
  document.moveTo(page.margin, document.y).lineTo(right, document.y).lineWidth(0.5).stroke();
  document.y += 5;
}

function drawTotal(document: Document, invoice: Invoice): void {
  const total = formatUsd(invoice.total);
  drawRow(document, { description: 'Total', quantity: '', unit: '', amount: total }, 'bold');
  if (document.y + 40 > bottom) document.addPage();
  document.font('plain').fontSize(8).fillColor(grey);
  const how =
    invoice.total < 0n
      ? 'Credited to the balance of the organisation.'
      : 'Paid from the balance of the organisation. Nothing is due.';
  document.text(`${how} Amounts are exact, in US dollars.`, page.margin, document.y + 10, { width });
  document.fillColor('black');
}

function numberPages(document: Document, number: string): void {
  const { start, count } = document.bufferedPageRange();
  for (let index = start; index < start + count; index += 1) {
    document.switchToPage(index);
    // Otherwise text below the margin would start a new page.
    document.page.margins.bottom = 0;
    document.font('plain').fontSize(7).fillColor(grey);
    const text = `${number}, page ${index - start + 1} of ${count}`;
    const y = page.height - page.margin + 5;
    document.text(text, page.margin, y, { width, align: 'right', lineBreak: false });
  }
}
