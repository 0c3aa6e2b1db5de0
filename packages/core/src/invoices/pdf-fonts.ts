import { readFile } from 'node:fs/promises';
import type PDFDocument from 'pdfkit';
import { unpackWoff } from './woff.ts';

/**
 * Selects the fonts of an invoice. Text with characters that DejaVu does not have, such as Chinese, Japanese or Korean,
 * uses Unifont, which covers the basic plane. Other characters are written as code points.
 */

type Document = InstanceType<typeof PDFDocument>;
export type FontName = 'plain' | 'bold' | 'wide';

const files = {
  plain: () => import.meta.resolve('dejavu-fonts-ttf/ttf/DejaVuSans.ttf'),
  bold: () => import.meta.resolve('dejavu-fonts-ttf/ttf/DejaVuSans-Bold.ttf'),
  wide: () => import.meta.resolve('@fontsource/unifont/files/unifont-latin-400-normal.woff'),
} as const;

const loaded = new Map<FontName, Promise<Buffer>>();

function fontOf(name: FontName): Promise<Buffer> {
  const known = loaded.get(name);
  if (known !== undefined) return known;
  const reading = readFile(new URL(files[name]())).then((file) =>
    name === 'wide' ? unpackWoff(file) : file,
  );
  loaded.set(name, reading);
  reading.catch(() => loaded.delete(name));
  return reading;
}

/** The wide font is large and few invoices need it, so it is registered only if needed. */
export async function registerFonts(document: Document, texts: readonly string[]): Promise<void> {
  const [plain, bold] = await Promise.all([fontOf('plain'), fontOf('bold')]);
  document.registerFont('plain', plain).registerFont('bold', bold);
  const isWide = texts.some((text) => !hasAll(document, 'plain', text) || !hasAll(document, 'bold', text));
  if (isWide) document.registerFont('wide', await fontOf('wide'));
}

/** Selects the font and returns the text as that font can show it. */
export function setFontFor(document: Document, wanted: 'plain' | 'bold', text: string): string {
  if (hasAll(document, wanted, text)) return text;
  document.font('wide');
  return Array.from(text)
    .map((char) => (hasGlyph(document, char) ? char : codePointOf(char)))
    .join('');
}

function hasAll(document: Document, name: FontName, text: string): boolean {
  document.font(name);
  // Iterates by code point, as fonts do.
  return Array.from(text).every((char) => hasGlyph(document, char));
}

/** The library's types do not expose the selected font. */
interface SelectedFont {
  readonly _font: { readonly font: { hasGlyphForCodePoint(codePoint: number): boolean } };
}

function hasGlyph(document: Document, char: string): boolean {
  if (char === '\n') return true;
  const { font } = (document as unknown as SelectedFont)._font;
  return font.hasGlyphForCodePoint(char.codePointAt(0) ?? 0);
}

function codePointOf(char: string): string {
  return `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`;
}
