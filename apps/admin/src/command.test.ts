import { describe, expect, it } from 'vitest';
import { parseFlags, UsageError, type Command, type FlagDefaults } from './command.ts';

const command: Command = {
  name: 'greet',
  summary: 'greets',
  flags: {
    name: {
      describe: 'your name',
      value: 'NAME',
      required: true,
      check: (value) => (value === 'Ada' ? null : `is ${value}`),
      question: { about: 'You are greeted.', example: 'Ada' },
    },
    loud: { describe: 'in upper case' },
  },
  example: 'greet --name Ada',
  run: async () => undefined,
};

/** Returns one line after the other. */
function typing(lines: readonly string[]) {
  const questions: string[] = [];
  const rest = [...lines];
  const prompt = async (question: string): Promise<string> => {
    questions.push(question);
    const line = rest.shift();
    if (line === undefined) throw new Error('the input ended');
    return line;
  };
  return { questions, prompt };
}

describe('parseFlags', () => {
  it('prompts for a missing flag until its value is valid', async () => {
    const { questions, prompt } = typing(['', 'Bob', 'Ada']);
    expect(await parseFlags(command, ['--loud'], prompt)).toEqual({ name: 'Ada', loud: true });
    expect(questions).toEqual([
      'You are greeted. Example: Ada\nyour name: ',
      'This value is empty.\nyour name: ',
      'This value is Bob.\nyour name: ',
    ]);
  });

  it('does not prompt for a flag that is set', async () => {
    const { questions, prompt } = typing([]);
    expect(await parseFlags(command, ['--name', 'Ada'], prompt)).toMatchObject({ name: 'Ada' });
    expect(questions).toEqual([]);
  });

  it('refuses a missing or wrong flag without a terminal, and when the input ends', async () => {
    await expect(parseFlags(command, [])).rejects.toThrow(new UsageError('--name is missing.'));
    await expect(parseFlags(command, [], typing([]).prompt)).rejects.toThrow('--name is missing.');
    await expect(parseFlags(command, ['--name', 'Bob'])).rejects.toThrow('--name is Bob.');
    await expect(parseFlags(command, ['--name', ' '])).rejects.toThrow('--name is empty.');
  });

  it('uses the defaults of the command for flags that are not passed', async () => {
    const withDefaults = (defaults: FlagDefaults): Command => ({
      ...command,
      defaults: async () => defaults,
    });
    expect(await parseFlags(withDefaults({ name: 'Ada' }), [])).toEqual({ name: 'Ada' });
    const { questions, prompt } = typing([]);
    expect(await parseFlags(withDefaults({ name: null }), ['--loud'], prompt)).toEqual({ loud: true });
    expect(questions).toEqual([]);
    await expect(parseFlags(withDefaults({ name: 'Bob' }), [])).rejects.toThrow('--name is Bob.');
    await expect(parseFlags(withDefaults({ name: 'Ada' }), ['--name', 'Bob'])).rejects.toThrow('is Bob.');
    await expect(parseFlags(withDefaults({ name: undefined }), [])).rejects.toThrow('--name is missing.');
  });
});
