import { startStopwatch, scaledLimitMs } from '@millrace/testing';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { cleanConsole, mergeConsole, consoleTailOf } from './console-text.ts';

const esc = '\u001B';

describe('what is shown of a console', () => {
  it.each([
    ['colours', `${esc}[1;31mred${esc}[0m text`, 'red text'],
    ['movements of the cursor', `one${esc}[2J${esc}[10;1Htwo`, 'onetwo'],
    ['a title of the window', `${esc}]0;pwned\u0007shell`, 'shell'],
    ['a title with the other end', `${esc}]0;pwned${esc}\\shell`, 'shell'],
    ['a title without an end', `before${esc}]0;pwned`, 'before'],
    ['other escapes', `${esc}(B${esc}cplain${esc}`, 'plain'],
    ['bells, backspaces and bytes of C1', 'a\u0007b\u0008c\u009Bd\u007F', 'abcd'],
    ['NUL, which no table takes', 'a\u0000b', 'ab'],
    ['half a character', 'a\uD800b', 'a\uFFFDb'],
    ['text that turns around', 'rm \u202Etxt.exe', 'rm txt.exe'],
    ['marks of direction', 'rm \u200F\u200E\u061Ctxt.exe', 'rm txt.exe'],
  ])('has no %s', (_what, written, shown) => {
    expect(cleanConsole(written)).toBe(shown);
  });

  it('has its lines and tabs, and every letter', () => {
    const text = 'login:\tadmin\r\nПривет, 世界 🙂\n';
    expect(cleanConsole(text)).toBe(text.replace('\r', ''));
  });

  it('holds no control character whatever was written, and is the same when it is cleaned again', () => {
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

  it('takes time in proportion to its length', async () => {
    const stopwatch = startStopwatch();
    for (const part of [esc, `${esc}]`, `${esc}[0;`, `${esc}(`]) cleanConsole(part.repeat(300_000));
    expect(await stopwatch.elapsedMs()).toBeLessThan(scaledLimitMs(5_000));
  });
});

describe('reading a console again', () => {
  const whole = Array.from(
    { length: 200 },
    (_, line) => `[${line}] something of line ${line} happened\n`,
  ).join('');

  it('adds what is new, from an engine that hands out everything as from one that does so once', () => {
    fc.assert(
      fc.property(fc.nat(whole.length), fc.nat(whole.length), (one, other) => {
        const [first, second] = [Math.min(one, other), Math.max(one, other)];
        const stored = mergeConsole('', whole.slice(0, first));
        // Less than a line may be found in the next one by chance.
        fc.pre(first === 0 || first > 40);
        expect(mergeConsole(stored, whole.slice(0, second))).toBe(whole.slice(0, second));
        expect(mergeConsole(stored, whole.slice(first, second))).toBe(whole.slice(0, second));
      }),
    );
  });

  it('adds what is new of an engine that hands out only the end', () => {
    const stored = whole.slice(0, 4_000);
    expect(mergeConsole(stored, whole.slice(3_000, 5_000))).toBe(whole.slice(0, 5_000));
  });
});

describe('the end of a console', () => {
  it('is at most as long as asked for, ends as it ends, and begins with a whole character', () => {
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
