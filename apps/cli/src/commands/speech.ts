import { costSummary, writeOutputFiles, outputFileFields, outputPath } from '../chat/output-files.ts';
import { chooseModel, modelFlag } from '../chat/model.ts';
import { defineCommand } from '../framework/command.ts';
import { UsageError } from '../framework/errors.ts';
import { printJson } from '../framework/output.ts';

export const command = defineCommand({
  name: 'speech',
  summary: 'Convert text to speech, as MP3',
  description:
    'The text is the argument or the piped input. The speech is written to --file, to a pipe, or to a new file in this folder.',
  positionals: [{ name: 'text', optional: true, many: true, describe: 'the text' }],
  flags: {
    model: modelFlag,
    file: { type: 'text', short: 'f', value: 'PATH', describe: 'the output file; - is standard output' },
    voice: { type: 'text', value: 'NAME', default: 'alloy', describe: 'the voice' },
    speed: { type: 'number', min: 0.25, max: 4, value: 'N', describe: 'the speed, 0.25 to 4' },
  },
  examples: {
    'millrace speech "The wheel turns." --file wheel.mp3': 'Into a file',
    'millrace speech < chapter.txt > chapter.mp3': 'From one file into another',
  },
  operations: ['createSpeech', 'listModels', 'getRequestUsage'],
  json: { kind: 'record', fields: outputFileFields },
  failure: 'Could not generate the speech',
  run: async (context, { args, flags }) => {
    const { io, clock, signal } = context;
    const place = outputPath(context, flags.file, 'speech', false);
    const words =
      args.text.length > 0 ? args.text.join(' ') : io.inIsTty ? '' : await context.files.readStdin();
    const input = words.trim();
    if (input === '') throw new UsageError('There is no text. Add it as an argument or pipe it in.');
    const client = context.client();
    const model = await chooseModel(client, flags.model, ['audio']);
    const startedMs = clock.monotonicMs();
    const { data, response } = await client.audio
      .createSpeech({ model, input, voice: flags.voice, speed: flags.speed }, { signal })
      .withResponse();
    const totalMs = Math.round(clock.monotonicMs() - startedMs);
    const requestId = response.headers.get('x-inference-request-id');
    const files = await writeOutputFiles(context, place, [data]);
    const { text, costNanoUsd } = await costSummary(context, client, { requestId, totalMs });
    if (context.output.format === 'json')
      printJson(context, { model, requestId, costNanoUsd, totalMs, files });
    else {
      for (const { file } of files) if (file !== null) io.out(`${file}\n`);
      if (io.errIsTty) context.note(io.paintErr('dim', text));
    }
  },
});
