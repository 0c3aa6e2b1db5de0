import { readFile } from 'node:fs/promises';
import { describe, expect, it } from 'vitest';
import { defineCommand, type Command } from './command.ts';
import type { System } from './context.ts';
import { CliError, SilentExit } from './errors.ts';
import { printResult, printJson } from './output.ts';
import { runCommandLine } from './runner.ts';

/** Runs commands that exist only in these tests and records their output. */
async function run(
  words: readonly string[],
  commands: readonly Command[],
  overrides: {
    readonly env?: Record<string, string>;
    readonly tty?: boolean;
    readonly reply?: string | ((question: string) => Promise<string>);
  } = {},
): Promise<{ code: number; out: string; err: string }> {
  let out = '';
  let err = '';
  const refuse = (): never => {
    throw new Error('not in this test');
  };
  const { tty = false } = overrides;
  const system: System = {
    io: {
      ...{ out: (text) => void (out += text), err: (text) => void (err += text), outBytes: refuse },
      ...{ isTty: tty, errIsTty: tty, inIsTty: tty, columns: 80, outHasColor: tty, errHasColor: tty },
    },
    env: overrides.env ?? {},
    clock: { now: refuse, monotonicMs: refuse, sleep: refuse, every: refuse },
    signal: new AbortController().signal,
    prompt: { line: answering(overrides.reply), secret: refuse, lines: refuse },
    capture: refuse,
    onInterrupt: refuse,
    randomBytes: refuse,
    spawn: refuse,
    files: {
      ...{
        readText: refuse,
        readBytes: refuse,
        write: refuse,
        remove: refuse,
        list: refuse,
        readStdin: refuse,
      },
      exists: () => Promise.resolve(false),
    },
    ...{ fetch: refuse, home: '/home/someone', version: '1.2.3', hostname: 'laptop', platform: 'linux' },
  };
  const manifest = commands.map((command) => ({
    name: command.name,
    summary: command.summary,
    load: () => Promise.resolve(command),
  }));
  const code = await runCommandLine({ manifest, loadClient: () => Promise.resolve(refuse) }, system, words);
  return { code, out, err };
}

const answering = (
  response: string | ((question: string) => Promise<string>) | undefined,
): System['prompt']['line'] =>
  typeof response === 'function' ? response : () => Promise.resolve(response ?? null);

const shared = {
  summary: 'Do something',
  examples: {
    'millrace thing do': 'One',
    'millrace thing do --json': 'Two',
  },
  operations: [],
  json: { kind: 'none' },
} as const;

const echo = defineCommand({
  ...shared,
  name: 'thing do',
  positionals: [
    { name: 'thingId', describe: 'which' },
    { name: 'more', describe: 'others', optional: true, many: true },
  ],
  flags: {
    name: { type: 'text', value: 'NAME', describe: 'its name' },
    color: { type: 'text', value: 'COLOR', describe: 'its colour', choices: ['red', 'blue'] },
    size: { type: 'number', value: 'N', integer: true, min: -5, max: 8, describe: 'its size' },
    tag: { type: 'list', value: 'TAG', describe: 'a tag' },
    extra: { type: 'json', value: 'JSON', describe: 'anything' },
    fast: { type: 'boolean', describe: 'quickly' },
  },
  rest: 'COMMAND',
  run(context, input) {
    context.io.out(JSON.stringify(input));
    return Promise.resolve();
  },
});

const failing = (error: unknown): Command =>
  defineCommand({
    ...shared,
    name: 'thing fail',
    failure: 'Could not fail.',
    run: () => Promise.reject(error),
  });

describe('arguments of a command', () => {
  it('are parsed as its definition says', async () => {
    const words = 'thing do t1 t2 t3 --name=a --color red --size -3 --tag x,y --tag z --fast -- ls -la'.split(
      ' ',
    );
    const { code, out } = await run(
      [...words.slice(0, 5), '--extra', '{"a":[1]}', ...words.slice(5)],
      [echo],
    );
    expect(code).toBe(0);
    expect(JSON.parse(out)).toEqual({
      args: { thingId: 't1', more: ['t2', 't3'] },
      flags: { name: 'a', color: 'red', size: -3, tag: ['x', 'y', 'z'], extra: { a: [1] }, fast: true },
      rest: ['ls', '-la'],
    });
  });

  it.each([
    [['thing', 'do'], 'THING_ID is missing'],
    [['thing', 'do', 't', '--colour', 'red'], 'did you mean --color?'],
    [['thing', 'do', 't', '--color', 'green'], 'use one of red, blue'],
    [['thing', 'do', 't', '--size', '9'], 'the maximum is 8'],
    [['thing', 'do', 't', '--size', '1.5'], 'not a whole number'],
    [['thing', 'do', 't', '--extra', '{'], 'is not JSON'],
    [['thing', 'do', 't', '--name', ''], '--name is empty'],
    [['thing', 'do', 't', '--json', '-o', 'table'], 'contradict each other'],
    [['thing', 'undo'], 'There is no command'],
    [['thnig', 'do'], 'Did you mean: millrace thing'],
    [['thing', 'od'], 'Did you mean: millrace thing do'],
    [['thing', 'do', 't', '--szie', '3'], 'did you mean --size?'],
  ])('%j cause a usage error that says what to type', async (words, message) => {
    const { code, out, err } = await run(words, [echo]);
    expect([code, out]).toEqual([3, '']);
    expect(err).toContain(message);
    expect(err).toContain('Try: ');
  });

  it('may have global flags before the name of the command', async () => {
    const { code } = await run(['--profile', 'work', '-o', 'json', 'thing', 'do', 't'], [echo]);
    expect(code).toBe(0);
  });
});

describe('help', () => {
  it('is printed on standard output for the root, a noun, a command and a topic', async () => {
    for (const words of [
      [],
      ['--help'],
      ['help'],
      ['thing'],
      ['thing', '--help'],
      ['help', 'thing'],
      ['thing', 'do', '--help'],
      ['help', 'thing', 'do'],
      ['-h', 'thing', 'do'],
      ['help', 'exit-codes'],
      ['help', 'flags'],
      ['--version'],
    ]) {
      const { code, out, err } = await run(words, [echo]);
      expect([code, err], words.join(' ')).toEqual([0, '']);
      expect(out.length, words.join(' ')).toBeGreaterThan(10);
    }
  });

  it('shows usage, flags with their choices, and examples of a command', async () => {
    const { out } = await run(['thing', 'do', '--help'], [echo]);
    expect(out).toContain('millrace thing do THING_ID [MORE...] [flags] [-- COMMAND]');
    expect(out).toContain('--color COLOR  its colour (red, blue)');
    expect(out).toContain('  millrace thing do --json');
  });
});

describe('errors of a command', () => {
  it('are printed in three lines on standard error, without a stack', async () => {
    const error = new CliError('It broke.', { why: 'It was old.', fix: 'millrace thing mend', exitCode: 5 });
    const { code, out, err } = await run(['thing', 'fail'], [failing(error)]);
    expect({ code, out, err }).toEqual({
      code: 5,
      out: '',
      err: 'Error: It broke.\n  Why: It was old.\n  Try: millrace thing mend\n',
    });
  });

  it('show why, what to do and the request id of an API error', async () => {
    const error = Object.assign(new Error('The balance is 0.10 USD.'), {
      ...{
        status: 400,
        reason: 'INSUFFICIENT_BALANCE',
        suggestion: 'Top up.',
        requestId: 'req_1',
        issues: [],
      },
    });
    const { code, err } = await run(['thing', 'fail'], [failing(error)]);
    expect(code).toBe(6);
    expect(err.split('\n')).toEqual([
      'Error: Could not fail (INSUFFICIENT_BALANCE).',
      '  Why: The balance is 0.10 USD.',
      '  Try: Check your balance and top up: millrace balance, then millrace topup 25',
      '  Request: req_1',
      '',
    ]);
  });

  it.each([
    [401, 'INVALID_API_KEY', 4],
    [403, 'INSUFFICIENT_SCOPE', 4],
    [404, 'RENTAL_NOT_FOUND', 5],
    [400, 'VOLUME_NOT_FOUND', 5],
    [402, 'BUDGET_EXCEEDED', 6],
    [400, 'INSUFFICIENT_CAPACITY', 7],
    [400, 'VALIDATION_FAILED', 3],
    [409, 'LAST_OWNER', 1],
    [500, null, 1],
  ])('with status %i and reason %s exit with code %i', async (status, reason, expected) => {
    const { code } = await run(
      ['thing', 'fail'],
      [failing(Object.assign(new Error('no'), { status, reason }))],
    );
    expect(code).toBe(expected);
  });

  it('show the innermost cause of a failed connection', async () => {
    const refused = Object.assign(new Error('connect'), { code: 'ECONNREFUSED' });
    const wrapped = new Error('no answer', { cause: new TypeError('fetch failed', { cause: refused }) });
    const { err } = await run(
      ['thing', 'fail'],
      [failing(Object.assign(wrapped, { name: 'ConnectionError' }))],
    );
    expect(err).toContain('no server listens there');
  });

  it('do not repeat an issue that the message already contains', async () => {
    const issues = [
      { path: ['url'], message: 'is not public' },
      { path: ['name'], message: 'is taken' },
    ];
    const twice = Object.assign(new Error('The URL is not public.'), { status: 400, reason: 'ODD', issues });
    const { err } = await run(['thing', 'fail'], [failing(twice)]);
    expect(err).toContain('Why: The URL is not public. name: is taken.');
  });

  it('show the spelling suggestion of the API', async () => {
    const slip = { status: 400, reason: 'VALIDATION_FAILED', suggestion: 'Did you mean h100?' };
    const { err } = await run(['thing', 'fail'], [failing(Object.assign(new Error('no'), slip))]);
    expect(err).toContain('Try: Did you mean h100? See millrace help thing fail');
  });

  it('show the stack of an unexpected error only with --debug', async () => {
    const quiet = await run(['thing', 'fail'], [failing(new RangeError('odd'))]);
    expect(quiet.code).toBe(1);
    expect(quiet.err).toContain('odd');
    expect(quiet.err).not.toMatch(/^ +at /m);
    const loud = await run(['thing', 'fail', '--debug'], [failing(new RangeError('odd'))]);
    expect(loud.err).toMatch(/\n {4}at /);
  });

  it('cannot control the terminal by their text', async () => {
    const hostile = new CliError('bad \u001b]0;owned\u0007 \u001b[2J name');
    const { err } = await run(['thing', 'fail'], [failing(hostile)], { env: { NO_COLOR: '1' } });
    expect(err).not.toContain('\u001b');
    expect(err).not.toContain('\u0007');
  });

  it('say that a change may have taken effect if its response was lost', async () => {
    for (const [method, name, code, expected] of [
      ['POST', 'TimeoutError', undefined, true],
      ['POST', 'ConnectionError', 'ECONNRESET', true],
      ['POST', 'ConnectionError', 'ECONNREFUSED', false],
      ['GET', 'TimeoutError', undefined, false],
    ] as const) {
      const unanswered = defineCommand({
        ...shared,
        name: 'thing fail',
        async run({ fetch }) {
          await fetch('https://api.example.com', { method }).catch(() => undefined);
          throw Object.assign(new Error('no answer', { cause: { code } }), { name });
        },
      });
      const { code: exitCode, err } = await run(['thing', 'fail'], [unanswered]);
      const what = `${method} ${name} ${code}`;
      expect([exitCode, err.includes('may have taken effect')], what).toEqual([1, expected]);
    }
  });

  it('treat an unreadable file as a usage error', async () => {
    const reading = defineCommand({
      ...shared,
      name: 'thing fail',
      run: async () => void (await readFile('/nowhere/at/all')),
    });
    const { code, err } = await run(['thing', 'fail'], [reading]);
    expect(code).toBe(3);
    expect(err).toContain('/nowhere/at/all');
    expect(err).not.toContain('unexpected');
  });

  it('cannot control the terminal with --debug', async () => {
    const hostile = new CliError('bad', { cause: new Error('\u001b[2J\u009b2J') });
    const { err } = await run(['thing', 'fail', '--debug'], [failing(hostile)]);
    expect(err).toContain('Caused by');
    expect(err).not.toMatch(/[\u001b\u009b]/);
  });

  it('may have any reason, also the name of an inherited property', async () => {
    for (const reason of ['constructor', '__proto__', 'toString']) {
      const odd = Object.assign(new Error('no'), { status: 400, reason, suggestion: 'Try it later.' });
      const { code, err } = await run(['thing', 'fail'], [failing(odd)]);
      expect([code, err.includes('Try it later.')], reason).toEqual([1, true]);
    }
  });

  it('exit with the code of a program that was started, without further output', async () => {
    expect(await run(['thing', 'fail'], [failing(new SilentExit(255))])).toEqual({
      code: 255,
      out: '',
      err: '',
    });
  });
});

describe('confirm', () => {
  const confirming = defineCommand({
    ...shared,
    name: 'thing drop',
    async run(context) {
      await context.confirm('Drop it?');
      context.io.out('dropped');
    },
  });

  it('is refused without a terminal, and names --yes', async () => {
    const { code, out, err } = await run(['thing', 'drop'], [confirming]);
    expect([code, out]).toEqual([3, '']);
    expect(err).toContain('--yes');
  });

  it('accepts only --yes and "yes"', async () => {
    expect((await run(['thing', 'drop', '--yes'], [confirming])).out).toBe('dropped');
    expect((await run(['thing', 'drop'], [confirming], { tty: true, reply: 'y' })).out).toBe('dropped');
    for (const reply of ['n', '', 'yeah']) {
      const { code, out } = await run(['thing', 'drop'], [confirming], { tty: true, reply });
      expect([code, out], reply).toEqual([2, '']);
    }
  });
});

it('untrusted names cannot control the terminal in questions, notes and results', async () => {
  const name = 'x\u001b[1A\u001b[2Ky\u009bz';
  const questions: string[] = [];
  const naming = defineCommand({
    ...shared,
    name: 'thing drop',
    async run(context) {
      await context.confirm(`Drop ${name}?`);
      context.note(`${context.io.paintErr('red', 'Careful')} with ${name}`);
      printResult(context, `Dropped ${name}.`, {});
      printJson(context, { name });
    },
  });
  const confirm = (question: string): Promise<string> => {
    questions.push(question);
    return Promise.resolve('y');
  };
  const { out, err } = await run(['thing', 'drop'], [naming], { tty: true, reply: confirm });
  expect(questions[0]).toContain('Drop x');
  expect(err).toContain('\u001b[31mCareful');
  for (const shown of [...questions, err.replaceAll(/\u001b\[\d+m/g, ''), out])
    expect(shown).not.toMatch(/[\u001b\u009b]/);
  expect(out).toContain(String.raw`\u009b`);
});

describe('colours', () => {
  it('are used only on terminals without NO_COLOR and --no-color', async () => {
    const command = failing(new CliError('no'));
    const coloured = await run(['thing', 'fail'], [command], { tty: true });
    expect(coloured.err).toContain('\u001b[31m');
    for (const [words, env] of [
      [['--no-color'], {}],
      [[], { NO_COLOR: '1' }],
      [[], { TERM: 'dumb' }],
    ] as const) {
      const { err } = await run(['thing', 'fail', ...words], [command], { tty: true, env });
      expect(err).not.toContain('\u001b');
    }
  });
});
