import type { FormHTMLAttributes, ReactNode } from 'react';
import { Button, type ButtonProps } from './button.tsx';
import { FormErrorContext } from './field.tsx';
import { Reasons } from './reasons.tsx';

interface FormProps extends Omit<FormHTMLAttributes<HTMLFormElement>, 'onSubmit'> {
  /** Without it, Enter does nothing and fields apply their own changes. */
  readonly onSend?: (form: HTMLFormElement) => void;
  /** API error; fields with a matching `issue` show their part. */
  readonly error?: unknown;
}

/** Form that never navigates the browser. */
export function Form({ onSend, error, children, ...rest }: FormProps) {
  return (
    <form
      {...rest}
      onSubmit={(event) => {
        event.preventDefault();
        onSend?.(event.currentTarget);
      }}
    >
      <FormErrorContext value={error}>
        <Reasons>{children}</Reasons>
      </FormErrorContext>
    </form>
  );
}

interface FormButtonsProps extends Pick<ButtonProps, 'kind' | 'busy' | 'off'> {
  readonly onClose: () => void;
  /** Label of the close button. */
  readonly cancel?: string;
  /** Label of the submit button. */
  readonly children: ReactNode;
}

export function FormButtons({ onClose, cancel = 'Cancel', kind = 'primary', ...rest }: FormButtonsProps) {
  return (
    <div className="flex flex-wrap justify-end gap-2">
      <Reasons className="text-right">
        <Button onClick={onClose}>{cancel}</Button>
        <Button {...rest} type="submit" kind={kind} />
      </Reasons>
    </div>
  );
}
