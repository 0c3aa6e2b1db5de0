import { costSummary, writeOutputFiles, outputFileFields, outputPath } from '../chat/output-files.ts';
import { chooseModel, modelFlag } from '../chat/model.ts';
import { defineCommand } from '../framework/command.ts';
import { UsageError } from '../framework/errors.ts';
import { printJson } from '../framework/output.ts';

export const command = defineCommand({
  name: 'image',
  summary: 'Generate an image',
  description:
    'The image is written to --file, to a pipe, or to a new file in this folder. Prints the name of the file.',
  positionals: [{ name: 'prompt', many: true, describe: 'a description of the image' }],
  flags: {
    model: modelFlag,
    file: { type: 'text', short: 'f', value: 'PATH', describe: 'the output file; - is standard output' },
    size: {
      type: 'text',
      value: 'WxH',
      default: '1024x1024',
      describe: 'width and height, 128 to 2496 each',
    },
    count: {
      type: 'number',
      short: 'n',
      integer: true,
      min: 1,
      max: 10,
      default: 1,
      value: 'N',
      describe: 'the number of images',
    },
    negative: { type: 'text', value: 'TEXT', describe: 'what the image must not show' },
    steps: {
      type: 'number',
      integer: true,
      min: 1,
      max: 1000,
      value: 'N',
      describe: 'the number of refinement steps',
    },
    guidance: {
      type: 'number',
      min: 0,
      max: 50,
      value: 'N',
      describe: 'how closely to follow the description',
    },
    seed: {
      type: 'number',
      integer: true,
      value: 'N',
      describe: 'the same seed gives the same image',
    },
  },
  examples: {
    'millrace image "a water mill at dusk" --file mill.png': 'One image',
    'millrace image "a red circle" --size 256x256 --count 4 --file circle.png': 'Four images',
  },
  operations: ['createImages', 'listModels', 'getRequestUsage'],
  json: { kind: 'record', fields: outputFileFields },
  failure: 'Could not generate the image',
  run: async (context, { args, flags }) => {
    const { clock, signal } = context;
    const place = outputPath(context, flags.file, 'image', flags.count > 1);
    if (!/^(?:auto|\d{3,4}x\d{3,4})$/.test(flags.size)) {
      throw new UsageError(`--size is ${JSON.stringify(flags.size)}; use width x height, such as 1024x768.`);
    }
    const client = context.client();
    const model = await chooseModel(client, flags.model, ['image']);
    const startedMs = clock.monotonicMs();
    const { data, response } = await client.images
      .create(
        {
          model,
          prompt: args.prompt.join(' '),
          n: flags.count,
          size: flags.size,
          negative_prompt: flags.negative,
          num_inference_steps: flags.steps,
          guidance_scale: flags.guidance,
          seed: flags.seed,
        },
        { signal },
      )
      .withResponse();
    const totalMs = Math.round(clock.monotonicMs() - startedMs);
    const requestId = response.headers.get('x-inference-request-id');
    const pictures = data.data.map(({ b64_json }) => Buffer.from(b64_json, 'base64'));
    const files = await writeOutputFiles(context, place, pictures);
    const { text, costNanoUsd } = await costSummary(context, client, { requestId, totalMs });
    if (context.output.format === 'json')
      printJson(context, { model, requestId, costNanoUsd, totalMs, files });
    else {
      for (const { file } of files) if (file !== null) context.io.out(`${file}\n`);
      if (context.io.errIsTty) context.note(context.io.paintErr('dim', text));
    }
  },
});
