import { describe, expect, it } from 'vitest';
import { parseModes } from './args.ts';

describe('parseModes', () => {
  it.each([
    [[], ['write']],
    [['--check'], ['check']],
    [
      ['--diff', '--check', '--lint'],
      ['check', 'lint', 'diff'],
    ],
    [['release'], ['release']],
    [['--help', 'release'], ['help']],
  ])('returns %j for %j', (args, modes) => {
    expect(parseModes(args)).toEqual(modes);
  });

  it('refuses unknown modes, so that a mistyped check does not seem to pass', () => {
    expect(() => parseModes(['--chek'])).toThrow();
    expect(() => parseModes(['check'])).toThrow(/not something/);
  });
});
