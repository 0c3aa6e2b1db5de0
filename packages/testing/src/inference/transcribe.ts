import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface Transcript {
  /** In the order of speech. */
  readonly words: readonly string[];
  readonly durationMs: number;
}

/** The recogniser's input: 16 000 samples per second of two bytes each, after a header. */
const bytesPerMs = 32;
const wavHeader = 44;

/**
 * Transcribes an MP3 file with a speech recogniser that knows only the words of the vocabulary and maps noise to the
 * nearest one. So the vocabulary must contain other words too, and tests must check the order too.
 */
export async function transcribe(mp3: Buffer, vocabulary: readonly string[]): Promise<Transcript> {
  const folder = await mkdtemp(path.join(tmpdir(), 'millrace-listener-'));
  const at = (name: string): string => path.join(folder, name);
  try {
    await writeFile(at('speech.mp3'), mp3);
    const grammar = `#JSGF V1.0;\ngrammar words;\npublic <all> = <word>+;\n<word> = ${vocabulary.join(' | ')};\n`;
    await writeFile(at('words.jsgf'), grammar);
    const asWav = ['-q', '-m', '-r', '16000', '-e', 's16', '-w', at('speech.wav'), at('speech.mp3')];
    await run('mpg123', asWav);
    const wav = await readFile(at('speech.wav'));
    const received = ['-infile', at('speech.wav'), '-jsgf', at('words.jsgf'), '-logfn', '/dev/null'];
    const { stdout } = await run('pocketsphinx_continuous', received);
    return {
      words: stdout.split(/\s+/).filter((word) => word !== ''),
      durationMs: Math.round((wav.length - wavHeader) / bytesPerMs),
    };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
