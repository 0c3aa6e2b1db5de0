import { readCompletion } from '@millrace/sdk/text';
import { safeReply } from '../chat/completion.ts';
import { formatFooter } from '../chat/footer.ts';
import { chooseModel, modelFlag } from '../chat/model.ts';
import { truncationNotice } from '../chat/session.ts';
import { defineCommand } from '../framework/command.ts';
import { UsageError } from '../framework/errors.ts';
import { printJson } from '../framework/output.ts';

export const command = defineCommand({
  name: 'complete',
  summary: 'Complete a text with a model',
  description:
    'The text is the argument or the piped input. Only the completion is printed to standard output.',
  positionals: [{ name: 'text', optional: true, many: true, describe: 'the text to complete' }],
  flags: {
    model: modelFlag,
    'max-tokens': {
      type: 'number',
      integer: true,
      min: 1,
      value: 'N',
      describe: 'the maximum length of the completion',
    },
    temperature: {
      type: 'number',
      min: 0,
      max: 2,
      value: 'T',
      describe: 'the sampling temperature, 0 to 2',
    },
    stop: { type: 'text', value: 'TEXT', describe: 'stop before this text' },
    seed: { type: 'number', integer: true, value: 'N', describe: 'the same seed gives the same completion' },
  },
  examples: {
    'millrace complete "Once upon a time" --max-tokens 50': 'A completion of fifty tokens',
    'millrace complete --model millrace-tiny --stop "\\n" < half.txt': 'One more line of a file',
  },
  operations: ['createCompletion', 'listModels'],
  json: {
    kind: 'record',
    fields: ['model', 'text', 'finishReason', 'usage', 'requestId', 'firstTokenMs', 'totalMs'],
  },
  failure: 'The model did not complete the text',
  run: async (context, { args, flags }) => {
    const { io, clock, signal } = context;
    const prompt =
      args.text.length > 0 ? args.text.join(' ') : io.inIsTty ? '' : await context.files.readStdin();
    if (prompt === '')
      throw new UsageError('There is no text to complete. Add it as an argument or pipe it in.');
    const client = context.client();
    const model = await chooseModel(client, flags.model, ['chat', 'completion']);
    const isJson = context.output.format === 'json';
    const chunks = client.completions.create(
      {
        model,
        prompt,
        max_tokens: flags['max-tokens'],
        temperature: flags.temperature,
        ...(flags.stop === undefined ? {} : { stop: flags.stop.replaceAll('\\n', '\n') }),
        seed: flags.seed,
        stream: true,
      },
      { signal },
    );
    const show = ({ text }: { readonly text: string }): void => io.out(io.isTty ? safeReply(text) : text);
    const end = await readCompletion(chunks, { clock, signal, show: isJson ? () => undefined : show });
    if (isJson) {
      printJson(context, {
        model,
        text: end.text,
        finishReason: end.finishReason,
        usage: end.usage,
        requestId: end.requestId,
        firstTokenMs: end.timing.firstMs,
        totalMs: end.timing.totalMs,
      });
    } else if (!end.text.endsWith('\n')) io.out('\n');
    if (io.errIsTty && !isJson) {
      const notes = [truncationNotice(end), formatFooter(end.usage, end.timing)].filter(
        (part) => part !== null,
      );
      context.note(io.paintErr('dim', notes.join(' · ')));
    }
    signal.throwIfAborted();
  },
});
