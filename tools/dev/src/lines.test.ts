import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { lineCutter, readable } from './lines.ts';

describe('log lines for people', () => {
  it('show time, level, message and the other fields', () => {
    const line =
      '{"level":"info","time":"2026-01-01T12:34:56.789Z","pid":1,"name":"api","port":8080,"msg":"listening"}';
    expect(readable(line)).toBe('12:34:56.789 info  listening port=8080');
  });

  it.each(['plain words', '{not json', '{"a":1}', ''])('leave %j as it is', (line) => {
    expect(readable(line)).toBe(line);
  });

  it('are whole however the text arrives', () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[^\n]*$/)), fc.array(fc.nat(20)), (lines, cuts) => {
        let rest = lines.map((line) => `${line}\n`).join('');
        const seen: string[] = [];
        const cutter = lineCutter((line) => seen.push(line));
        for (const cut of cuts) {
          cutter.push(rest.slice(0, cut));
          rest = rest.slice(cut);
        }
        cutter.push(rest);
        cutter.end();
        expect(seen).toEqual(lines);
      }),
    );
  });
});
