import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createLineSplitter, formatLogLine } from './log-lines.ts';

describe('formatLogLine', () => {
  it('prints time, level, message and the other fields', () => {
    const line =
      '{"level":"info","time":"2026-01-01T12:34:56.789Z","pid":1,"name":"api","port":8080,"msg":"listening"}';
    expect(formatLogLine(line)).toBe('12:34:56.789 info  listening port=8080');
  });

  it('prints status, reason, operation, duration and id of a request', () => {
    const line =
      '{"level":"info","time":"2026-01-01T12:34:56.789Z","name":"api","requestId":"req_1","operation":"createApiKey",' +
      '"method":"POST","status":400,"tookMs":3,"clientIp":"127.0.0.1","orgId":"org_1","keyId":"key_1",' +
      '"reason":"VALIDATION_FAILED","msg":"request"}';
    expect(formatLogLine(line)).toBe('12:34:56.789 info  400 VALIDATION_FAILED POST createApiKey 3 ms req_1');
    const unknown =
      '{"level":"info","time":"2026-01-01T12:34:56.789Z","requestId":"req_2","operation":"none","method":"GET",' +
      '"status":404,"tookMs":0,"clientIp":"127.0.0.1","url":"/v2/nope","reason":"ROUTE_NOT_FOUND","msg":"request"}';
    expect(formatLogLine(unknown)).toBe('12:34:56.789 info  404 ROUTE_NOT_FOUND GET /v2/nope 0 ms req_2');
  });

  it('prints a stack over several lines', () => {
    const line =
      '{"level":"error","time":"2026-01-01T12:34:56.789Z","err":{"type":"Error","message":"no","stack":"Error: no\\n    at here"},"msg":"failed"}';
    expect(formatLogLine(line)).toBe('12:34:56.789 error failed\n    Error: no\n        at here');
  });

  it.each(['plain words', '{not json', '{"a":1}', ''])('leaves %j unchanged', (line) => {
    expect(formatLogLine(line)).toBe(line);
  });

  it('createLineSplitter joins lines that arrive in several chunks', () => {
    fc.assert(
      fc.property(fc.array(fc.stringMatching(/^[^\n]*$/)), fc.array(fc.nat(20)), (lines, cuts) => {
        let rest = lines.map((line) => `${line}\n`).join('');
        const seen: string[] = [];
        const cutter = createLineSplitter((line) => seen.push(line));
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
