import { startStopwatch, scaledLimitMs } from '@millrace/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cleanConsole, mergeConsole, consoleTailOf } from './console-text.ts';

const esc = '\u001B';

describe('cleanConsole', () => {
  it.each([
    ['colours', `${esc}[1;31mred${esc}[0m text`, 'red text'],
    ['cursor movements', `one${esc}[2J${esc}[10;1Htwo`, 'onetwo'],
    ['window titles', `${esc}]0;pwned\u0007shell`, 'shell'],
    ['window titles with the other terminator', `${esc}]0;pwned${esc}\\shell`, 'shell'],
    ['window titles without terminator', `before${esc}]0;pwned`, 'before'],
    ['other escape sequences', `${esc}(B${esc}cplain${esc}`, 'plain'],
    ['bells, backspaces and C1 bytes', 'a\u0007b\u0008c\u009Bd\u007F', 'abcd'],
    ['NUL, which PostgreSQL rejects', 'a\u0000b', 'ab'],
    ['lone surrogates', 'a\uD800b', 'a\uFFFDb'],
    ['overrides of the text direction', 'rm \u202Etxt.exe', 'rm txt.exe'],
    ['direction marks', 'rm \u200F\u200E\u061Ctxt.exe', 'rm txt.exe'],
  ])('removes %s', (_what, written, shown) => {
    expect(cleanConsole(written)).toBe(shown);
  });

  it('keeps lines, tabs and all letters', () => {
    const text = 'login:\tadmin\r\nПривет, 世界 🙂\n';
    expect(cleanConsole(text)).toBe(text.replace('\r', ''));
  });

  it('leaves no control character in any text, and is idempotent', () => {
    const nasty = fc.string({
      unit: fc.constantFrom(esc, '[', ']', '0', ';', 'm', '\\', '\u0007', '\r', '\n', 'x', '\u0000'),
    });
    fc.assert(
      fc.property(fc.oneof(nasty, fc.string({ unit: 'binary' })), (written) => {
        const shown = cleanConsole(written);
        expect(shown).not.toMatch(/(?![\n\t])\p{Cc}/u);
        expect(cleanConsole(shown)).toBe(shown);
      }),
    );
  });

  it('takes time proportional to the length', async () => {
    const stopwatch = startStopwatch();
    for (const part of [esc, `${esc}]`, `${esc}[0;`, `${esc}(`]) cleanConsole(part.repeat(300_000));
    expect(await stopwatch.elapsedMs()).toBeLessThan(scaledLimitMs(5_000));
  });
});

describe('mergeConsole', () => {
  const whole = Array.from(
    { length: 200 },
    (_, line) => `[${line}] something of line ${line} happened\n`,
  ).join('');

  it('appends new output of engines that return everything and of engines that return each byte once', () => {
    fc.assert(
      fc.property(fc.nat(whole.length), fc.nat(whole.length), (one, other) => {
        const [first, second] = [Math.min(one, other), Math.max(one, other)];
        const stored = mergeConsole('', whole.slice(0, first));
        // Less than one line may occur in the next one by chance.
        fc.pre(first === 0 || first > 40);
        expect(mergeConsole(stored, whole.slice(0, second))).toBe(whole.slice(0, second));
        expect(mergeConsole(stored, whole.slice(first, second))).toBe(whole.slice(0, second));
      }),
    );
  });

  it('appends new output of engines that return only the end', () => {
    const stored = whole.slice(0, 4_000);
    expect(mergeConsole(stored, whole.slice(3_000, 5_000))).toBe(whole.slice(0, 5_000));
  });
});

describe('consoleTailOf', () => {
  it('returns at most the requested bytes, the end of the text, and whole characters', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), fc.integer({ min: 1, max: 50 }), (written, maxBytes) => {
        const { text, isCut } = consoleTailOf(written, maxBytes);
        expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxBytes);
        expect(written.endsWith(text)).toBe(true);
        expect(text.isWellFormed()).toBe(true);
        expect(isCut).toBe(text !== written);
      }),
    );
  });
});
