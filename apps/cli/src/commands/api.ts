import { defineCommand } from '../framework/command.ts';
import type { Context } from '../framework/context.ts';
import { UsageError } from '../framework/errors.ts';
import { printBytes, printJson, printJsonLine, printList, printText } from '../framework/output.ts';
import { closestMatch } from '../framework/parse.ts';
import { readInput } from '../generated/input.ts';
import { loadOperations, type CallableId, type OperationEntry } from '../sdk.ts';

export const command = defineCommand({
  name: 'api',
  summary: 'Call any operation of the API by its id',
  description:
    'Prints the response unchanged. Without an operation it lists all operations. The input is one object with the path, query and body fields.',
  positionals: [{ name: 'operation', describe: 'the id of an operation, such as getRental', optional: true }],
  flags: {
    input: { type: 'text', value: 'FILE', describe: 'the input as JSON, from a file or standard input (-)' },
    field: {
      type: 'list',
      whole: true,
      short: 'f',
      value: 'NAME=VALUE',
      describe: 'one field of the input; parsed as JSON if possible, otherwise text',
    },
    stream: { type: 'boolean', describe: 'print events as they arrive, one per line' },
  },
  examples: {
    'millrace api getRental --field rentalId=1042': 'One field',
    'millrace api createApiKey --input key.json': 'The input from a file',
    'millrace api': 'All operations with their paths',
  },
  operations: [],
  json: { kind: 'any' },
  async run(context, { args, flags }) {
    const operations = await loadOperations();
    if (args.operation === undefined) {
      listOperations(context, operations);
      return;
    }
    const id = knownOperation(operations, args.operation);
    const given = flags.input === undefined ? {} : await readInput(context, flags.input);
    const fields = { ...given, ...Object.fromEntries(flags.field.map(fieldOf)) };
    const options = { signal: context.signal };
    if (flags.stream === true || fields['stream'] === true) {
      for await (const event of context.openClient().stream(id, fields, options))
        printJsonLine(context, event);
      return;
    }
    const response: unknown = await context.openClient().call(id, fields, options);
    printResponse(context, response);
  },
});

type Operations = Readonly<Record<string, OperationEntry>>;

function listOperations(context: Context, operations: Operations): void {
  const rows = Object.entries(operations).map(([id, { method, path }]) => ({ id, method, path }));
  printList(
    context,
    rows,
    [
      { name: 'operation', value: ({ id }) => id },
      { name: 'method', value: ({ method }) => method },
      { name: 'path', value: ({ path }) => path },
    ],
    { empty: 'No operations.', footer: 'Call one: millrace api getMe' },
  );
}

function knownOperation(operations: Operations, typed: string): CallableId {
  if (Object.hasOwn(operations, typed)) return typed as CallableId;
  const near = closestMatch(typed, Object.keys(operations));
  throw new UsageError(`There is no operation ${JSON.stringify(typed)}.`, {
    fix: near === undefined ? 'List all operations: millrace api' : `Did you mean: millrace api ${near}`,
  });
}

function fieldOf(typed: string): readonly [string, unknown] {
  const at = typed.indexOf('=');
  if (at < 1) throw new UsageError(`--field is ${JSON.stringify(typed)}; use the form name=value.`);
  const text = typed.slice(at + 1);
  try {
    return [typed.slice(0, at), JSON.parse(text)];
  } catch {
    return [typed.slice(0, at), text];
  }
}

function printResponse(context: Context, response: unknown): void {
  if (response === undefined || response === null) return;
  if (response instanceof Uint8Array) printBytes(context, response);
  // A page of a list: print the response of the API, with its cursor.
  else if (typeof response === 'object' && 'response' in response && 'nextPage' in response)
    printJson(context, response.response);
  else if (typeof response === 'string') printText(context, response);
  else printJson(context, response);
}
