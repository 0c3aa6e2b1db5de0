import type { Context } from '../framework/context.ts';
import { CliError, UsageError } from '../framework/errors.ts';
import { printText } from '../framework/output.ts';

/** Writes files from the API to a named file or to the pipe. */

export const fileFlag = {
  type: 'text',
  short: 'f',
  value: 'PATH',
  describe: 'the output file; - is standard output',
} as const;

/** Throws unless the whole body arrives: a truncated report looks like a complete one. */
export async function readFullBody(response: Response): Promise<Uint8Array> {
  try {
    return new Uint8Array(await response.arrayBuffer());
  } catch (error) {
    throw new CliError('The file is incomplete.', {
      why: 'The connection closed before the end. Nothing was written.',
      fix: 'Run the same command again.',
      cause: error,
    });
  }
}

/** Writes the file. `binary` files are never written to a terminal. */
export async function writeFileOutput(
  context: Context,
  data: Uint8Array,
  {
    file,
    name,
    binary,
  }: { readonly file: string | undefined; readonly name: string; readonly binary: boolean },
): Promise<string | null> {
  const { io } = context;
  if (file === '-' && binary && io.isTty) {
    throw new UsageError('A terminal cannot show this file. Name a file with --file, or pipe the output.');
  }
  if (file === '-' || (file === undefined && (!io.isTty || !binary))) {
    if (io.isTty) printText(context, new TextDecoder().decode(data));
    else io.outBytes(data);
    return null;
  }
  const place = file ?? name;
  await context.files.write(place, data);
  return place;
}
