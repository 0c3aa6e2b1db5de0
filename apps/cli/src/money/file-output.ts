import type { Context } from '../framework/context.ts';
import { CliError, UsageError } from '../framework/errors.ts';
import { printText } from '../framework/output.ts';

/** Files that the API sends: into a file of one's own, or through the pipe. */

export const fileFlag = {
  type: 'text',
  short: 'f',
  value: 'PATH',
  describe: 'where to put it; - is standard output',
} as const;

/** The whole body, or an error: a part of a report looks just like a report. */
export async function readFullBody(response: Response): Promise<Uint8Array> {
  try {
    return new Uint8Array(await response.arrayBuffer());
  } catch (error) {
    throw new CliError('The file did not arrive whole.', {
      why: 'The connection ended before its end. Nothing was written.',
      fix: 'Run the same command again.',
      cause: error,
    });
  }
}

/** Writes it where it was asked for. `binary` files never go to a terminal. */
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
    throw new UsageError('A terminal cannot show this file: name one with --file, or pipe it on.');
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
