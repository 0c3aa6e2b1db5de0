import type { Millrace } from '../sdk.ts';
import type { Context } from '../framework/context.ts';
import { UsageError } from '../framework/errors.ts';
import { waitForLedgerUsage, elapsedText, usdText } from '@millrace/sdk/text';

/** Writes the files that models generate, and sums up their cost. */

export interface OutputFile {
  /** Null for standard output. */
  readonly file: string | null;
  readonly type: string;
  readonly bytes: number;
}

export const outputFileFields = ['model', 'requestId', 'costNanoUsd', 'totalMs', 'files'] as const;

const fileSignatures = [
  { type: 'image/png', ending: 'png', bytes: [0x89, 0x50, 0x4e, 0x47] },
  { type: 'image/jpeg', ending: 'jpg', bytes: [0xff, 0xd8, 0xff] },
  { type: 'image/webp', ending: 'webp', bytes: [0x52, 0x49, 0x46, 0x46] },
  { type: 'audio/mpeg', ending: 'mp3', bytes: [0x49, 0x44, 0x33] },
] as const;

/** Detects the file type from its first bytes. */
export function detectFileType(data: Uint8Array): { readonly type: string; readonly ending: string } {
  const known = fileSignatures.find(({ bytes }) => bytes.every((byte, at) => data[at] === byte));
  if (known !== undefined) return known;
  // MPEG audio without a title starts with a frame: eleven set bits.
  const isFrame = data[0] === 0xff && ((data[1] ?? 0) & 0xe0) === 0xe0;
  return isFrame
    ? { type: 'audio/mpeg', ending: 'mp3' }
    : { type: 'application/octet-stream', ending: 'bin' };
}

/** The name of the nth file: `sky.png`, `sky-2.png`. */
export function numberedFileName(wanted: string, nth: number, ending: string): string {
  const dot = wanted.lastIndexOf('.');
  const hasEnding = dot > Math.max(wanted.lastIndexOf('/'), wanted.lastIndexOf('\\')) + 1;
  const [stem, end] = hasEnding ? [wanted.slice(0, dot), wanted.slice(dot)] : [wanted, `.${ending}`];
  return nth === 0 ? `${stem}${end}` : `${stem}-${nth + 1}${end}`;
}

/** The output path: the named file, the pipe, or a new file with a time in its name. */
export function outputPath(
  context: Context,
  named: string | undefined,
  what: string,
  several: boolean,
): string | null {
  const isPiped = named === '-' || (named === undefined && !context.io.isTty);
  if (!isPiped || context.output.format === 'json') {
    if (named !== undefined && named !== '-') return named;
    const now = context.clock.now().toISOString().slice(0, 19).replaceAll(/[-:]/g, '').replace('T', '-');
    return `${what}-${now}`;
  }
  if (several) throw new UsageError('Several images cannot be piped. Name a file with --file.');
  return null;
}

/** Writes the files; overwrites an existing file only if the user named it. */
export async function writeOutputFiles(
  context: Context,
  place: string | null,
  made: readonly Uint8Array[],
): Promise<OutputFile[]> {
  const written: OutputFile[] = [];
  for (const [nth, data] of made.entries()) {
    const { type, ending } = detectFileType(data);
    if (place === null) context.io.outBytes(data);
    const file = place === null ? null : numberedFileName(place, nth, ending);
    if (file !== null) await context.files.write(file, data);
    written.push({ file, type, bytes: data.length });
  }
  return written;
}

/** `2.1 s · $0.01 · req_…` */
export async function costSummary(
  context: Context,
  client: Millrace,
  made: { readonly requestId: string | null; readonly totalMs: number },
): Promise<{ readonly text: string; readonly costNanoUsd: string | null }> {
  const usage = await waitForLedgerUsage(client, made.requestId, context);
  const costNanoUsd = usage === null ? null : String(usage.cost_nano_usd);
  const fields = [
    elapsedText(made.totalMs),
    costNanoUsd === null ? null : usdText(costNanoUsd),
    made.requestId,
  ];
  return { text: fields.filter((part) => part !== null).join(' · '), costNanoUsd };
}
