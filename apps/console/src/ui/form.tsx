import type { FormHTMLAttributes, ReactNode } from 'react';
import { Button, type ButtonProps } from './button.tsx';
import { FormErrorContext } from './field.tsx';

interface FormProps extends Omit<FormHTMLAttributes<HTMLFormElement>, 'onSubmit'> {
  /** Without it the fields act by themselves, and Enter does nothing. */
  readonly onSend?: (form: HTMLFormElement) => void;
  /** Why the service refused it: a field with an `issue` shows its part of it. */
  readonly error?: unknown;
}

/** A form that the page sends by itself: the browser never leaves the page. */
export function Form({ onSend, error, children, ...rest }: FormProps) {
  return (
    <form
      {...rest}
      onSubmit={(event) => {
        event.preventDefault();
        onSend?.(event.currentTarget);
      }}
    >
      <FormErrorContext value={error}>{children}</FormErrorContext>
    </form>
  );
}

interface FormButtonsProps extends Pick<ButtonProps, 'kind' | 'busy' | 'off'> {
  readonly onClose: () => void;
  /** The word on the button that closes. */
  readonly cancel?: string;
  /** The words on the button that sends. */
  readonly children: ReactNode;
}

/** The end of a form in a dialog. */
export function FormButtons({ onClose, cancel = 'Cancel', kind = 'primary', ...rest }: FormButtonsProps) {
  return (
    <div className="flex justify-end gap-2">
      <Button onClick={onClose}>{cancel}</Button>
      <Button {...rest} type="submit" kind={kind} />
    </div>
  );
}
