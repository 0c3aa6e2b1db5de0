import { elapsedText } from '@millrace/sdk/text';
import { Check, Circle, LoaderCircle, Undo2, X, type LucideIcon } from 'lucide-react';
import type { StepView } from '../steps.ts';

const stepStyles: Readonly<Record<StepView['status'], { icon: LucideIcon; color: string; word: string }>> = {
  waiting: { icon: Circle, color: 'text-soft', word: 'pending' },
  running: { icon: LoaderCircle, color: 'text-info animate-spin', word: 'now' },
  done: { icon: Check, color: 'text-good', word: 'done' },
  failed: { icon: X, color: 'text-bad', word: 'failed' },
  undone: { icon: Undo2, color: 'text-warn', word: 'undone' },
};

export function StepList({ steps, label }: Readonly<{ steps: readonly StepView[]; label: string }>) {
  return (
    <ol aria-label={label} className="flex flex-col gap-1.5">
      {steps.map(({ key, title, status, elapsedMs, usual, message }) => {
        const { icon: Icon, color, word } = stepStyles[status];
        return (
          <li key={key} className="grid grid-cols-[1.25rem_1fr_auto] items-start gap-2">
            <Icon aria-hidden className={`mt-0.5 size-4 ${color}`} />
            <span className={status === 'waiting' ? 'text-soft' : ''}>
              <span className="font-medium">{title}</span>
              <span className="sr-only"> ({word})</span>
              {usual !== null && <span className="text-soft block text-xs">{usual}</span>}
              {message !== null && <span className="text-bad block">{message}</span>}
            </span>
            <span className="text-soft tabular-nums">{elapsedMs === null ? '' : elapsedText(elapsedMs)}</span>
          </li>
        );
      })}
    </ol>
  );
}
