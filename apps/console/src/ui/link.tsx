import { createLink } from '@tanstack/react-router';
import type { ComponentProps } from 'react';
import { buttonClass, type ButtonKind } from './button.tsx';

export const TextLink = createLink(({ className = '', children, ...rest }: ComponentProps<'a'>) => (
  <a {...rest} className={`underline ${className}`}>
    {children}
  </a>
));

interface LinkButtonProps extends ComponentProps<'a'> {
  readonly kind?: ButtonKind;
  readonly size?: 'small' | 'medium';
}

export const LinkButton = createLink(({ kind, size, className = '', children, ...rest }: LinkButtonProps) => (
  <a {...rest} className={`${buttonClass(kind, size)} ${className}`}>
    {children}
  </a>
));
