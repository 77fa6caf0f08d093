//! The functions that C calls. In each, `user` is the [`Lent`] that
//! [`Session::lending`](super::Session) lends for the outer call, and every other pointer is valid
//! during the inner call.

use super::stream_errors::reported;
use super::{Broken, Events, FrameHead, GoAway, Kind, Lent, state_of};
use libnghttp2_sys as sys;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::slice;

fn code(result: Result<(), Broken>) -> c_int {
    match result {
        Ok(()) => 0,
        Err(Broken) => sys::NGHTTP2_ERR_CALLBACK_FAILURE,
    }
}

pub unsafe extern "C" fn begin<E: Events>(
    session: *mut sys::nghttp2_session,
    head: *const sys::nghttp2_frame_hd,
    user: *mut c_void,
) -> c_int {
    // SAFETY: see the module.
    let (lent, head) = unsafe { (&mut *user.cast::<Lent<'_, E>>(), FrameHead::of(&*head)) };
    lent.watch.begin(&head);
    // The library ignores PRIORITY frames, including this error (RFC 9113, section 6.3).
    if head.kind == Kind::Priority && head.stream == 0 {
        lent.events.violation("PRIORITY of stream 0");
        // SAFETY: see the module; a session may be terminated from within its callbacks.
        return unsafe {
            sys::nghttp2_session_terminate_session(session, sys::NGHTTP2_PROTOCOL_ERROR)
        };
    }
    code(lent.events.begin(&head))
}

pub unsafe extern "C" fn field<E: Events>(
    _: *mut sys::nghttp2_session,
    frame: *const sys::nghttp2_frame,
    name: *const u8,
    name_length: usize,
    value: *const u8,
    value_length: usize,
    _: u8,
    user: *mut c_void,
) -> c_int {
    // SAFETY: see the module; every frame begins with its header, and both texts have the given
    // lengths.
    let (lent, stream, name, value) = unsafe {
        (
            &mut *user.cast::<Lent<'_, E>>(),
            (*frame).hd.stream_id,
            slice::from_raw_parts(name, name_length),
            slice::from_raw_parts(value, value_length),
        )
    };
    code(lent.events.field(stream, name, value))
}

pub unsafe extern "C" fn malformed<E: Events>(
    _: *mut sys::nghttp2_session,
    _: *const sys::nghttp2_frame,
    name: *const u8,
    name_length: usize,
    value: *const u8,
    value_length: usize,
    _: u8,
    user: *mut c_void,
) -> c_int {
    // SAFETY: see the module; both texts have the given lengths.
    let (lent, name, value) = unsafe {
        (
            &mut *user.cast::<Lent<'_, E>>(),
            slice::from_raw_parts(name, name_length),
            slice::from_raw_parts(value, value_length),
        )
    };
    code(lent.events.malformed(name, value))
}

/// The start of the library's message about a field for which it ends the connection, up to the
/// field's name, and the text behind the name.
const INVALID_FIELD: &[u8] = b"Invalid HTTP header field was received";
const BEFORE_NAME: &[u8] = b"name: [";
const BEHIND_NAME: &[u8] = b"], value: [";

pub unsafe extern "C" fn message<E: Events>(
    _: *mut sys::nghttp2_session,
    _: c_int,
    text: *const c_char,
    length: usize,
    user: *mut c_void,
) -> c_int {
    // SAFETY: see the module; the text has the given length.
    let (lent, text) = unsafe {
        (&mut *user.cast::<Lent<'_, E>>(), slice::from_raw_parts(text.cast::<u8>(), length))
    };
    let find = |text: &[u8], part: &[u8]| text.windows(part.len()).position(|at| at == part);
    if text.starts_with(INVALID_FIELD)
        && let Some(at) = find(text, BEFORE_NAME)
        && let name = &text[at + BEFORE_NAME.len()..]
        && let Some(length) = find(name, BEHIND_NAME)
    {
        lent.events.misplaced(&name[..length]);
    }
    0
}

pub unsafe extern "C" fn data<E: Events>(
    _: *mut sys::nghttp2_session,
    _: u8,
    stream: i32,
    bytes: *const u8,
    length: usize,
    user: *mut c_void,
) -> c_int {
    // SAFETY: see the module; `bytes` has the given length.
    let (lent, bytes) =
        unsafe { (&mut *user.cast::<Lent<'_, E>>(), slice::from_raw_parts(bytes, length)) };
    code(lent.events.data(stream, bytes))
}

pub unsafe extern "C" fn frame<E: Events>(
    _: *mut sys::nghttp2_session,
    frame: *const sys::nghttp2_frame,
    user: *mut c_void,
) -> c_int {
    // SAFETY: see the module; the header determines the valid field of the union.
    let (lent, frame) = unsafe { (&mut *user.cast::<Lent<'_, E>>(), &*frame) };
    lent.watch.end();
    // SAFETY: every frame begins with its header.
    let head = FrameHead::of(unsafe { &frame.hd });
    if head.kind != Kind::GoAway {
        return code(lent.events.frame(&head));
    }
    // SAFETY: the header says that it is a GOAWAY frame.
    let goaway = unsafe { &frame.goaway };
    let notice = GoAway { last_stream: goaway.last_stream_id, code: goaway.error_code };
    code(lent.events.go_away(notice))
}

pub unsafe extern "C" fn violation<E: Events>(
    session: *mut sys::nghttp2_session,
    frame: *const sys::nghttp2_frame,
    error: c_int,
    user: *mut c_void,
) -> c_int {
    // SAFETY: see the module; every frame begins with its header, and the library's error messages
    // are static.
    let (lent, head, words) = unsafe {
        (
            &mut *user.cast::<Lent<'_, E>>(),
            FrameHead::of(&(*frame).hd),
            CStr::from_ptr(sys::nghttp2_strerror(error)),
        )
    };
    // SAFETY: see the module; neither call changes the session.
    let (state, serves) = unsafe {
        (state_of(session, head.stream), sys::nghttp2_session_check_server_session(session) != 0)
    };
    if let Some(code) = reported(&head, state, error, serves) {
        lent.watch.fail(head.stream, code);
    }
    lent.events.violation(words.to_str().unwrap_or_default());
    0
}

pub unsafe extern "C" fn closed<E: Events>(
    _: *mut sys::nghttp2_session,
    stream: i32,
    error: u32,
    user: *mut c_void,
) -> c_int {
    // SAFETY: see the module.
    unsafe { &mut *user.cast::<Lent<'_, E>>() }.events.closed(stream, error);
    0
}

pub unsafe extern "C" fn fill<E: Events>(
    _: *mut sys::nghttp2_session,
    stream: i32,
    room: *mut u8,
    length: usize,
    flags: *mut u32,
    _: *mut sys::nghttp2_data_source,
    user: *mut c_void,
) -> sys::nghttp2_ssize {
    // SAFETY: see the module; `room` has the given length, and is C's own memory.
    let (lent, room) =
        unsafe { (&mut *user.cast::<Lent<'_, E>>(), slice::from_raw_parts_mut(room, length)) };
    let (filled, last) = lent.events.fill(stream, room);
    if last {
        // SAFETY: see the module.
        unsafe { *flags |= sys::NGHTTP2_DATA_FLAG_EOF };
    }
    filled as sys::nghttp2_ssize
}
