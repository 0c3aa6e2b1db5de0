import { execFile } from 'node:child_process';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';

import { createMp3Encoder } from 'wasm-media-encoders';

import { mediaModels } from '../engines/inference/media-command.ts';
import { BadRequest, numberIn, serve, textIn } from './server.ts';

/** Serves speech over OpenAI's `/v1/audio/speech`: flite synthesises it, LAME encodes it as MP3. */

const run = promisify(execFile);

/** OpenAI's voice names and flite's own. */
const voices: Readonly<Record<string, string>> = {
  alloy: 'slt',
  echo: 'rms',
  fable: 'awb',
  slt: 'slt',
  rms: 'rms',
  awb: 'awb',
  kal: 'kal16',
};

serve(mediaModels.speech, '/v1/audio/speech', async (body, signal) => {
  const text = textIn(body, 'input');
  const voice = voices[textIn(body, 'voice')];
  if (voice === undefined) throw new BadRequest(`voice must be one of ${Object.keys(voices).join(', ')}.`);
  const speed = numberIn(body, 'speed', 1, [0.25, 4]);
  const format = body['response_format'] ?? 'mp3';
  if (format !== 'mp3') throw new BadRequest('Only response_format mp3 is supported.');
  return { contentType: 'audio/mpeg', body: await toMp3(await synthesise(text, { voice, speed, signal })) };
});

interface SpeechOptions {
  readonly voice: string;
  readonly speed: number;
  readonly signal: AbortSignal;
}

/** Returns a WAV file. The text is passed as a file, because an argument is limited in size and could look like an option. */
async function synthesise(text: string, { voice, speed, signal }: SpeechOptions): Promise<Buffer> {
  const folder = await mkdtemp(path.join(tmpdir(), 'millrace-speech-'));
  try {
    const [wav, written] = [path.join(folder, 'speech.wav'), path.join(folder, 'text')];
    await writeFile(written, text);
    const stretch = `duration_stretch=${1 / speed}`;
    await run('flite', ['-voice', voice, '--setf', stretch, '-f', written, '-o', wav], { signal });
    return await readFile(wav);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const wavHeader = 44;
const samplesAtOnce = 16_384;

async function toMp3(wav: Buffer): Promise<Buffer> {
  const encoder = await createMp3Encoder();
  encoder.configure({ sampleRate: wav.readUInt32LE(24), channels: 1, bitrate: 64 });
  const samples = Float32Array.from(
    { length: (wav.length - wavHeader) >> 1 },
    (_, at) => wav.readInt16LE(wavHeader + 2 * at) / 32_768,
  );
  const chunks: Buffer[] = [];
  for (let at = 0; at < samples.length; at += samplesAtOnce) {
    chunks.push(Buffer.from(encoder.encode([samples.subarray(at, at + samplesAtOnce)])));
  }
  chunks.push(Buffer.from(encoder.finalize()));
  return Buffer.concat(chunks);
}
