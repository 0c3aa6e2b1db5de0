import { Button as BaseButton } from '@base-ui/react/button';
import type { ButtonHTMLAttributes, ReactNode } from 'react';
import { useShownReason } from './reasons.tsx';
import { WithTooltip } from './with-tooltip.tsx';

export type ButtonKind = 'primary' | 'plain' | 'quiet' | 'danger';

const kindClasses: Readonly<Record<ButtonKind, string>> = {
  primary: 'bg-accent text-on-accent hover:bg-accent-strong border-transparent',
  plain: 'bg-surface text-ink border-line hover:bg-raised',
  quiet: 'bg-transparent text-soft border-transparent hover:bg-raised hover:text-ink',
  danger: 'bg-surface text-bad border-line hover:bg-bad-soft',
};

export function buttonClass(kind: ButtonKind = 'plain', size: 'small' | 'medium' = 'medium'): string {
  const box = size === 'small' ? 'min-h-7 px-2 text-xs' : 'min-h-9 px-3';
  return `inline-flex items-center justify-center gap-1.5 rounded-md border font-medium whitespace-nowrap aria-disabled:opacity-60 aria-disabled:cursor-not-allowed disabled:opacity-60 ${box} ${kindClasses[kind]}`;
}

export interface ButtonProps extends Omit<ButtonHTMLAttributes<HTMLButtonElement>, 'disabled'> {
  readonly kind?: ButtonKind;
  readonly size?: 'small' | 'medium';
  readonly icon?: ReactNode;
  /** Label while the action runs; the button is disabled meanwhile. */
  readonly busy?: string | false | undefined;
  /** Why the button is disabled; shown by `Reasons` around it, else as tooltip, and to screen readers. */
  readonly off?: string | false | undefined;
}

export function Button({ kind, size, icon, busy, off, children, type = 'button', ...rest }: ButtonProps) {
  const isBusy = typeof busy === 'string';
  const isOff = typeof off === 'string';
  const label = typeof children === 'string' ? children : (rest['aria-label'] ?? '');
  const reasonId = useShownReason(label, isOff ? off : null);
  const button = (
    <BaseButton
      {...rest}
      aria-describedby={reasonId ?? rest['aria-describedby']}
      type={type}
      className={`${buttonClass(kind, size)} ${rest.className ?? ''}`}
      disabled={isBusy || isOff}
      // Keyboard users must be able to reach the reason.
      focusableWhenDisabled
    >
      {icon}
      {isBusy ? busy : children}
    </BaseButton>
  );
  return isOff && reasonId === null ? <WithTooltip why={off}>{button}</WithTooltip> : button;
}
