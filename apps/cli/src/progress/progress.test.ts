import { describe, expect, it } from 'vitest';
import { createRentalSteps, createInstanceSteps, type Step } from '@millrace/sdk/text';
import { Progress } from './progress.ts';
import { progressLines, type TimedStep } from './view.ts';

const plan = createRentalSteps['virtual-machine'];
const look = { columns: 80, color: false, nowMs: 0 };

function step(name: string, status: Step['status'], seconds: readonly [number, number?] = [0, 0]): Step {
  const at = (second: number | undefined): string | null =>
    second === undefined ? null : new Date(1_000_000 + second * 1_000).toISOString();
  return { name, status, startedAt: at(seconds[0]), endedAt: at(seconds[1]), message: null };
}

const timed = (each: Step, elapsedMs: number | null): TimedStep => ({ ...each, elapsedMs });

/** Renders the screen of a terminal from the written text and the escapes used here. */
function screenOf(text: string): readonly string[] {
  const lines: string[] = [''];
  let row = 0;
  for (const [token] of text.matchAll(/\u001B\[\??\d*[A-Za-z]|\n|[^\n\u001B]+/g)) {
    if (token === '\n') {
      row += 1;
      lines[row] ??= '';
    } else if (token.endsWith('A') && token.startsWith('\u001B')) row -= Number(token.slice(2, -1));
    else if (token === '\u001B[2K') lines[row] = '';
    else if (!token.startsWith('\u001B')) lines[row] = `${lines[row] ?? ''}${token}`;
  }
  return lines;
}

function terminal(isTty: boolean) {
  let text = '';
  const screen = {
    write: (more: string) => void (text += more),
    isTty,
    columns: () => 80,
    color: false,
  };
  return { screen, text: () => text, shown: () => screenOf(text) };
}

describe('progressLines', () => {
  it('shows past steps, the running step with its time and usual time, and remaining steps', () => {
    const steps = [timed(step('place', 'done'), 100), timed(step('create', 'running'), 2_400)];
    expect(progressLines(plan, steps, look)).toEqual([
      '  ✓ place   0.1 s  find a host',
      '  ⠋ create  2.4 s  provision the machine (usually 1 s to 30 s)',
      '  · prove          log in and count its GPUs',
      '  · open           install your keys and open your ports',
    ]);
  });

  it('says if a step takes longer than usual', () => {
    const [, line] = progressLines(
      plan,
      [timed(step('place', 'done'), 0), timed(step('create', 'running'), 31_000)],
      look,
    );
    expect(line).toContain(' 31 s  provision the machine (longer than the usual 30 s)');
  });

  it('shows why a step failed, then the second attempt, and nothing after the end', () => {
    const failed: TimedStep = { ...timed(step('create', 'failed'), 1_000), message: 'The host is full.' };
    const moved = [timed(step('place', 'done'), 0), failed, timed(step('create', 'running', [9]), 0)];
    expect(progressLines(plan, moved, look)).toEqual([
      expect.stringContaining('✓ place'),
      expect.stringContaining('✗ create'),
      '    The host is full.',
      expect.stringContaining('⠋ create'),
      expect.stringContaining('· prove'),
      expect.stringContaining('· open'),
    ]);
    expect(progressLines(plan, [failed], look)).toHaveLength(2);
  });

  it('fits the window, so that no line wraps', () => {
    for (const columns of [10, 24, 40]) {
      const lines = progressLines(plan, [timed(step('place', 'running'), 0)], { ...look, columns });
      for (const line of lines) expect([...line].length).toBeLessThan(columns);
    }
  });

  it('uses no colour by default, and resets colours', () => {
    const [line] = progressLines(plan, [timed(step('place', 'done'), 0)], { ...look, color: true });
    expect(line).toMatch(/^\u001B\[32m.*\u001B\[0m$/);
  });

  it('shows steps that are not expected', () => {
    const [line] = progressLines(createInstanceSteps, [timed(step('novel', 'running'), 500)], look);
    expect(line).toMatch(/^ {2}⠋ novel +0\.5 s$/);
  });
});

describe('Progress', () => {
  it('redraws on a terminal and restores the cursor', () => {
    const { screen, text, shown } = terminal(true);
    const progress = new Progress(screen, plan);
    progress.show([step('place', 'running', [0])], 5_000);
    progress.tick(6_000);
    expect(shown()[0]).toContain('place   1.0 s  find a host');
    progress.show([step('place', 'done', [0, 2]), step('create', 'running', [2])], 7_000);
    progress.end();
    expect(shown()).toEqual([
      '  ✓ place   2.0 s  find a host',
      '  ⠋ create  0.0 s  provision the machine (usually 1 s to 30 s)',
      '  · prove          log in and count its GPUs',
      '  · open           install your keys and open your ports',
      '',
    ]);
    expect(text().startsWith('\u001B[?25l')).toBe(true);
    expect(text().endsWith('\u001B[?25h')).toBe(true);
  });

  it('times running steps by the local clock, whatever the clock of the server says', () => {
    const { screen, shown } = terminal(true);
    const progress = new Progress(screen, plan);
    progress.show([step('place', 'running', [-86_400])], 50_000);
    progress.tick(52_000);
    expect(shown()[0]).toContain('2.0 s');
  });

  it('writes each change once elsewhere, as a line without escapes', () => {
    const { screen, text } = terminal(false);
    const progress = new Progress(screen, plan);
    const place = step('place', 'done', [0, 0.1]);
    progress.show([place, step('create', 'running', [1])], 0);
    progress.show([place, step('create', 'running', [1])], 400);
    progress.tick(800);
    const failed = { ...step('create', 'failed', [1, 3]), message: 'The host is full.' };
    progress.show([place, failed], 1_200);
    progress.end();
    expect(text().split('\n')).toEqual([
      'place done after 0.1 s',
      'create: provision the machine (usually 1 s to 30 s)',
      'create failed after 2.0 s: The host is full.',
      '',
    ]);
  });
});
