import { describe, expect, it } from 'vitest';
import { parseModes } from './args.ts';

describe('the command line', () => {
  it.each([
    [[], ['write']],
    [['--check'], ['check']],
    [
      ['--diff', '--check', '--lint'],
      ['check', 'lint', 'diff'],
    ],
    [['release'], ['release']],
    [['--help', 'release'], ['help']],
  ])('%j runs %j', (args, modes) => {
    expect(parseModes(args)).toEqual(modes);
  });

  it('refuses what it does not know, so that a mistyped check never passes for a check', () => {
    expect(() => parseModes(['--chek'])).toThrow();
    expect(() => parseModes(['check'])).toThrow(/not something/);
  });
});
